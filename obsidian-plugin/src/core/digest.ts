import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import MarkdownIt from 'markdown-it';
import type { MarkdownIt as Parser, StateInline, Token } from 'markdown-it';

/** Stands before and after code. CommonMark replaces every NUL in its input, so no text can imitate it. */
const MARK = '\0';
const NESTING = 100;
// Python and JavaScript disagree about which of these are white space and which are trimmed from a line.
const CONTROL = /[^\P{Cc}\t\n\r]/gu;
const FAINT = /[\u2028\u2029\ufeff]/g;
const BLOCK_ID = /(?:^| )\^l[0-9a-f]{11}$/;
const WIKILINK = /^!?\[\[([^[\]|\r\n]+)(?:\|([^[\]\r\n]*))?\]\]/;

/** The sections of a note that its digest speaks for: the markdown below each heading. */
export interface Spoken {
	readonly summary: string;
	readonly learned: string;
	readonly context: string;
}

/**
 * The content digest of a note, sha256 in hex: the same for two notes that say the same in other marks, another when one
 * word differs. The core computes the same; `schemas/vectors/digest.json` holds both to it.
 */
export function wordsDigest(category: string, spoken: Spoken): string {
	// Keys in the order that canonical JSON wants; strings are written by JSON.stringify as RFC 8785 writes them.
	const canonical = JSON.stringify({
		category: wellFormed(category),
		v: 1,
		words: { context: words(spoken.context), learned: words(spoken.learned), summary: words(spoken.summary) },
	});
	return bytesToHex(sha256(utf8ToBytes(canonical)));
}

/** The words of a piece of markdown, one string a block, empty ones left out; code stands between two NULs. */
export function words(markdown: string): readonly string[] {
	const source = wellFormed(markdown).replace(CONTROL, '\ufffd').replace(FAINT, ' ');
	const tokens = parser.parse(source, {});
	// Past its nesting limit the parser drops text. Nobody writes such a thing by hand, and hidden words must count.
	if (tokens.some((token) => token.level >= NESTING - 2)) {
		return filled(source.split(/\r\n?|\n/));
	}
	return filled(tokens.flatMap(block));
}

function block(token: Token): readonly string[] {
	switch (token.type) {
		case 'inline':
			return [shown(token.children ?? [])];
		case 'fence':
		case 'code_block':
			return [MARK + token.content + MARK];
		case 'html_block':
			return [token.content];
		default:
			return [];
	}
}

function shown(tokens: readonly Token[]): string {
	return tokens.map(shownToken).join('');
}

function shownToken(token: Token): string {
	switch (token.type) {
		case 'code_inline':
			return MARK + token.content + MARK;
		case 'softbreak':
		case 'hardbreak':
			return ' ';
		case 'image':
			return shown(token.children ?? []);
		default:
			return token.nesting === 0 ? token.content : '';
	}
}

function filled(blocks: readonly string[]): readonly string[] {
	return blocks.map(tidy).filter((line) => line !== '');
}

function tidy(text: string): string {
	const line = wellFormed(text).normalize('NFC').replace(/\s+/g, ' ').replace(/^ | $/g, '');
	return line.replace(BLOCK_ID, '');
}

function wellFormed(text: string): string {
	return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

const parser = commonmark();

function commonmark(): Parser {
	const made = new MarkdownIt('commonmark');
	made.set({ maxNesting: NESTING });
	made.inline.ruler.before('link', 'wikilink', wikilink);
	// The Python parser trims every kind of space from a block before it looks for a hard break at its end.
	made.core.ruler.after('block', 'trim', ({ tokens }) => {
		for (const token of tokens) {
			if (token.type === 'inline') {
				token.content = token.content.trim();
			}
		}
	});
	// The parser gives up on all comments, declarations and CDATA of a block after the first one that has no end.
	made.inline.ruler.before('html_inline', 'retry_html', (state) => {
		state.skipHtmlSpecial = false;
		return false;
	});
	const { parseLinkDestination } = made.helpers;
	made.helpers = {
		...made.helpers,
		// The Python parser ends an address before a backslash that stands before a space, this one after it.
		parseLinkDestination: (text, start, max) => {
			const found = parseLinkDestination(text, start, max);
			if (!found.ok || text[start] === '<' || text[found.pos] !== ' ' || found.pos >= max || !/(?:^|[^\\])(?:\\\\)*\\$/.test(text.slice(start, found.pos))) {
				return found;
			}
			return found.pos - 1 === start ? { ok: false, pos: 0, str: '' } : { ok: true, pos: found.pos - 1, str: text.slice(start, found.pos - 1) };
		},
	};
	// How an address is shown or refused differs between the Python and the JavaScript parser and their versions;
	// addresses are no words, so every one is taken as it stands.
	made.normalizeLink = (url) => url;
	made.normalizeLinkText = (url) => url;
	made.validateLink = () => true;
	return made;
}

function wikilink(state: StateInline, silent: boolean): boolean {
	const first = state.src[state.pos];
	if (first !== '[' && first !== '!') {
		return false;
	}
	const found = WIKILINK.exec(state.src.slice(state.pos, state.posMax));
	if (found === null) {
		return false;
	}
	if (!silent) {
		const [, target = '', text = ''] = found;
		// In a table the bar of a wikilink is written `\|`.
		state.push('text', '', 0).content = text === '' ? target.replace(/\\$/, '') : text;
	}
	state.pos += found[0].length;
	return true;
}
