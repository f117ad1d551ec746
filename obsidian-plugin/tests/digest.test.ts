import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { words, wordsDigest } from '../src/core/digest';

interface Case {
	readonly name: string;
	readonly category: string;
	readonly summary: string;
	readonly learned: string;
	readonly context: string;
	readonly words: Readonly<Record<'summary' | 'learned' | 'context', readonly string[]>>;
	readonly digest: string;
}

interface Pair {
	readonly why: string;
	readonly names: readonly [string, string];
}

interface Vectors {
	readonly cases: readonly Case[];
	readonly pairs_equal: readonly Pair[];
	readonly pairs_differ: readonly Pair[];
}

const file = resolve(import.meta.dirname, '../../schemas/vectors/digest.json');
// In a checkout of the plugin alone there is no core beside it to agree with.
const present = existsSync(file);
const vectors: Vectors = present ? (JSON.parse(readFileSync(file, 'utf8')) as Vectors) : { cases: [], pairs_equal: [], pairs_differ: [] };
const digests = new Map(vectors.cases.map((one) => [one.name, wordsDigest(one.category, one)]));

describe.skipIf(!present)('the vectors shared with the core', () => {
	test.each(vectors.cases)('$name', (one) => {
		expect({ summary: words(one.summary), learned: words(one.learned), context: words(one.context) }).toEqual(one.words);
		expect(digests.get(one.name)).toBe(one.digest);
	});

	test('are enough, and each name stands once', () => {
		expect(digests.size).toBe(vectors.cases.length);
		expect(vectors.cases.length).toBeGreaterThanOrEqual(60);
		expect(vectors.pairs_differ.length).toBeGreaterThanOrEqual(20);
	});

	test.each(vectors.pairs_equal)('$names.0 says the same as $names.1: $why', ({ names: [left, right] }) => {
		expect(digests.get(left)).toMatch(/^[0-9a-f]{64}$/);
		expect(digests.get(left)).toBe(digests.get(right));
	});

	test.each(vectors.pairs_differ)('$names.0 does not say the same as $names.1: $why', ({ names: [left, right] }) => {
		expect(digests.get(left)).toMatch(/^[0-9a-f]{64}$/);
		expect(digests.get(right)).toMatch(/^[0-9a-f]{64}$/);
		expect(digests.get(left)).not.toBe(digests.get(right));
	});
});

test('half of a surrogate pair is one replacement character', () => {
	expect(words('a \ud800 b \udc00\ud800')).toEqual(['a \ufffd b \ufffd\ufffd']);
	expect(words('\u{1F600}')).toEqual(['\u{1F600}']);
});

test('brackets without an end and quotes without a bottom are read to the last word', () => {
	expect(words('['.repeat(20_000)).join('')).toHaveLength(20_000);
	expect(words(`${'> '.repeat(5_000)}deep`).join('')).toContain('deep');
});
