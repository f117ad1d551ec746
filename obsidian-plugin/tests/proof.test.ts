import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { describe, expect, test } from 'vitest';
import { canonical, isGood, leaf, payloadBytes, root, rootFrom, toSign, verify } from '../src/core/proof';
import type { Json, Payload, Proof } from '../src/core/proof';

interface Vectors {
	readonly canonical: readonly { readonly name: string; readonly json: string; readonly canonical: string }[];
	readonly refused: readonly { readonly name: string; readonly json: string }[];
	readonly payloads: readonly { readonly name: string; readonly payload: Payload; readonly bytes: string; readonly leaf: string }[];
	readonly batches: readonly { readonly name: string; readonly items: readonly string[]; readonly root: string; readonly message: string; readonly paths: readonly (readonly string[])[] }[];
	readonly signatures: readonly { readonly name: string; readonly key: string; readonly message: string; readonly sig: string; readonly good: boolean }[];
	readonly lines: readonly { readonly name: string; readonly action: string; readonly subject: string; readonly data: { readonly [key: string]: Json }; readonly proof: Proof; readonly good: boolean }[];
}

const file = resolve(import.meta.dirname, '../../schemas/vectors/proof.json');
// In a checkout of the plugin alone there is no core beside it to agree with.
const present = existsSync(file);
const vectors: Vectors = present
	? (JSON.parse(readFileSync(file, 'utf8')) as Vectors)
	: { canonical: [], refused: [], payloads: [], batches: [], signatures: [], lines: [] };

describe.skipIf(!present)('the proofs shared with the core', () => {
	test.each(vectors.canonical)('canonical JSON: $name', (one) => {
		expect(canonical(JSON.parse(one.json) as Json)).toBe(one.canonical);
	});

	test.each(vectors.refused)('refused: $name', (one) => {
		expect(() => canonical(JSON.parse(one.json) as Json)).toThrow(RangeError);
	});

	test.each(vectors.payloads)('bytes to sign: $name', (one) => {
		expect(new TextDecoder().decode(payloadBytes(one.payload))).toBe(one.bytes);
		expect(new TextDecoder().decode(toSign([one.payload]))).toBe(one.bytes);
		expect(bytesToHex(leaf(payloadBytes(one.payload)))).toBe(one.leaf);
	});

	test.each(vectors.batches)('a batch of $name', (one) => {
		const leaves = one.items.map((item) => leaf(utf8ToBytes(item)));
		expect(bytesToHex(root(leaves))).toBe(one.root);
		leaves.forEach((hash, index) => {
			const path = (one.paths[index] ?? []).map(hexToBytes);
			expect(bytesToHex(rootFrom(hash, index, leaves.length, path) ?? new Uint8Array())).toBe(one.root);
			expect(rootFrom(hash, leaves.length, leaves.length, path)).toBeNull();
			expect(rootFrom(hash, index, leaves.length, [...path, hash])).toBeNull();
		});
		const payloads = one.items.map((item) => JSON.parse(item.slice(item.indexOf('\n') + 1)) as Payload);
		expect(new TextDecoder().decode(toSign(payloads))).toBe(one.message);
	});

	test.each(vectors.signatures)('a signature: $name', async (one) => {
		expect(await verify(one.key, one.sig, utf8ToBytes(one.message))).toBe(one.good);
	});

	test.each(vectors.lines)('a line: $name', async (one) => {
		expect(await isGood(one.action, one.subject, one.data, one.proof)).toBe(one.good);
	});

	test('are enough', () => {
		expect(vectors.canonical.length).toBeGreaterThanOrEqual(15);
		expect(vectors.lines.filter(({ good }) => !good).length).toBeGreaterThanOrEqual(15);
		expect(vectors.signatures.some(({ good }) => good)).toBe(true);
	});
});

test('acts of two keys or times, and none at all, are not one batch', () => {
	const act: Payload = { vault: 'v', key: 'k', verb: 'approved', subject: 'n', digest: '', args: {}, after: '', at: 'now' };
	expect(toSign([act, act]).length).toBeGreaterThan(0);
	expect(() => toSign([])).toThrow(RangeError);
	expect(() => toSign([act, { ...act, key: 'other' }])).toThrow(RangeError);
	expect(() => toSign([act, { ...act, at: 'later' }])).toThrow(RangeError);
});
