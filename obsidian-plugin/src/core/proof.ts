import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';

/** A value that has a canonical form: no fractions of ours, but those of others are read. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** One act as a person signs it. `verb` is the action of the line it becomes, `key` the public key in hex. */
export interface Payload {
	readonly vault: string;
	readonly key: string;
	readonly verb: string;
	readonly subject: string;
	readonly digest: string;
	readonly args: { readonly [key: string]: Json };
	/** The lines the person saw last on the subject, joined by commas. */
	readonly after: string;
	/** UTC to the microsecond, as on a line. */
	readonly at: string;
}

/** What a line carries. All bytes are lower-case hex; `count`, `index` and `path` only in a batch. */
export interface Proof {
	readonly vault: string;
	readonly key: string;
	readonly at: string;
	readonly sig: string;
	readonly count?: number;
	readonly index?: number;
	readonly path?: readonly string[];
}

const PREFIX = 'vir/1\n';
const MOST = 10_000;
const LEAF = new Uint8Array([0]);
const NODE = new Uint8Array([1]);
const HEX = /^(?:[0-9a-f]{2})*$/;

/** Canonical JSON (RFC 8785). Throws a RangeError for what has none: large integers, NaN, half of a surrogate pair. */
export function canonical(value: Json): string {
	if (typeof value === 'number') {
		// Beyond this a double stands for several integers, and two readers may disagree which one was meant.
		if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21)) {
			throw new RangeError('a number that not every reader reads alike');
		}
		return JSON.stringify(value);
	}
	if (typeof value === 'string') {
		return quoted(value);
	}
	if (value === null || typeof value === 'boolean') {
		return String(value);
	}
	if (isList(value)) {
		return `[${value.map(canonical).join(',')}]`;
	}
	// The default order of strings is that of UTF-16 units, which is what RFC 8785 wants.
	const fields = Object.keys(value).sort().map((key) => `${quoted(key)}:${canonical(value[key] ?? null)}`);
	return `{${fields.join(',')}}`;
}

/** The bytes of one act. */
export function payloadBytes({ vault, key, verb, subject, digest, args, after, at }: Payload): Uint8Array {
	return utf8ToBytes(PREFIX + canonical({ vault, key, verb, subject, digest, args, after, at }));
}

/** The bytes that one signature over these acts is made of. Throws a RangeError for none, and for acts of two keys or times. */
export function toSign(payloads: readonly Payload[]): Uint8Array {
	const [first] = payloads;
	if (first === undefined || payloads.some(({ vault, key, at }) => vault !== first.vault || key !== first.key || at !== first.at)) {
		throw new RangeError('one signature is by one key, at one time, for one vault');
	}
	if (payloads.length === 1) {
		return payloadBytes(first);
	}
	return batchBytes(first, payloads.length, root(payloads.map((one) => leaf(payloadBytes(one)))));
}

/** The bytes that the signature in `proof` must be good for, when it stands on a line with this act; null when it cannot be. */
export function signedBytes(payload: Payload, { count = 0, index = 0, path = [] }: Proof): Uint8Array | null {
	const item = payloadBytes(payload);
	if (count === 0) {
		return item;
	}
	if (!path.every((hash) => HEX.test(hash))) {
		return null;
	}
	const top = rootFrom(leaf(item), index, count, path.map(hexToBytes));
	return top === null ? null : batchBytes(payload, count, top);
}

/** The act that a line with this data must have been signed as. */
export function payloadOf(action: string, subject: string, data: { readonly [key: string]: Json }, { vault, key, at }: Pick<Proof, 'vault' | 'key' | 'at'>): Payload | null {
	const { digest = '', after = '', ...args } = data;
	return typeof digest === 'string' && typeof after === 'string' ? { vault, key, verb: action, subject, digest, args, after, at } : null;
}

/** Whether the proof is good for the line, whoever owns the key. */
export async function isGood(action: string, subject: string, data: { readonly [key: string]: Json }, proof: Proof): Promise<boolean> {
	const payload = payloadOf(action, subject, data, proof);
	const message = payload === null ? null : signedBytes(payload, proof);
	return message !== null && verify(proof.key, proof.sig, message);
}

/** Whether an Ed25519 signature (hex) by a public key (hex) is good for a message. */
export async function verify(key: string, signature: string, message: Uint8Array): Promise<boolean> {
	if (!HEX.test(key) || key.length !== 64 || !HEX.test(signature) || signature.length !== 128) {
		return false;
	}
	const { subtle } = crypto;
	const imported = await subtle.importKey('raw', new Uint8Array(hexToBytes(key)), 'Ed25519', false, ['verify']);
	return subtle.verify('Ed25519', imported, new Uint8Array(hexToBytes(signature)), new Uint8Array(message));
}

/** The hash of one act in a batch. */
export function leaf(item: Uint8Array): Uint8Array {
	return sha256(concatBytes(LEAF, item));
}

/** The root over the hashes of a batch, as RFC 9162 builds it. Throws a RangeError for none and for too many. */
export function root(leaves: readonly Uint8Array[]): Uint8Array {
	if (leaves.length === 0 || leaves.length > MOST) {
		throw new RangeError(`a batch holds 1 to ${MOST} acts`);
	}
	let level = leaves;
	while (level.length > 1) {
		// The odd one out rises as it is.
		level = Array.from({ length: Math.ceil(level.length / 2) }, (_, place) => {
			const [left, right] = level.slice(2 * place, 2 * place + 2);
			return left !== undefined && right !== undefined ? node(left, right) : (left ?? new Uint8Array());
		});
	}
	return level[0] ?? new Uint8Array();
}

/** The root that leaf `index` of `count` leads to, or null when the path is not as long as its place says. */
export function rootFrom(hash: Uint8Array, index: number, count: number, path: readonly Uint8Array[]): Uint8Array | null {
	if (!Number.isInteger(index) || !Number.isInteger(count) || index < 0 || index >= count || count > MOST) {
		return null;
	}
	let here = index;
	let last = count - 1;
	let top = hash;
	for (const beside of path) {
		if (last === 0) {
			return null;
		}
		if (here % 2 === 1 || here === last) {
			while (here % 2 === 0) {
				here = Math.floor(here / 2);
				last = Math.floor(last / 2);
			}
			top = node(beside, top);
		} else {
			top = node(top, beside);
		}
		here = Math.floor(here / 2);
		last = Math.floor(last / 2);
	}
	return last === 0 ? top : null;
}

function node(left: Uint8Array, right: Uint8Array): Uint8Array {
	return sha256(concatBytes(NODE, left, right));
}

function batchBytes({ vault, key, at }: Pick<Payload, 'vault' | 'key' | 'at'>, count: number, top: Uint8Array): Uint8Array {
	return utf8ToBytes(PREFIX + canonical({ vault, key, verb: 'batch', count, root: bytesToHex(top), at }));
}

function isList(value: readonly Json[] | { readonly [key: string]: Json }): value is readonly Json[] {
	return Array.isArray(value);
}

function quoted(text: string): string {
	if (/\p{Surrogate}/u.test(text)) {
		throw new RangeError('half of a surrogate pair');
	}
	return JSON.stringify(text);
}
