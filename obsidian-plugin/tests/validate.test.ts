import { describe, expect, test } from 'vitest';
import { CONTRACT, ERROR_KINDS, REPLY_SHAPES, SHAPES } from '../src/core/contract';
import type { Shape, Verb } from '../src/core/contract';
import { readReply } from '../src/core/validate';
import { DOCTOR } from './support';

const VERBS = Object.keys(REPLY_SHAPES) as Verb[];

/** A value that fits, with every list, map and nullable filled. */
function sample(shape: Shape): unknown {
	switch (shape.is) {
		case 'string':
			return 'text';
		case 'integer':
			return 3;
		case 'number':
			return 0.5;
		case 'boolean':
			return true;
		case 'word':
			return shape.of[0];
		case 'nullable':
			return sample(shape.of);
		case 'list':
			return [sample(shape.of), sample(shape.of)];
		case 'map':
			return { one: sample(shape.of) };
		case 'struct':
			return Object.fromEntries(Object.entries(SHAPES[shape.name] ?? {}).map(([field, { shape: inner }]) => [field, field === 'contract' ? CONTRACT : sample(inner)]));
	}
}

function fits(shape: Shape, value: unknown): boolean {
	switch (shape.is) {
		case 'string':
			return typeof value === 'string';
		case 'integer':
			return Number.isSafeInteger(value);
		case 'number':
			return Number.isFinite(value);
		case 'boolean':
			return typeof value === 'boolean';
		case 'word':
			return shape.of.some((word) => word === value);
		case 'nullable':
			return value === null || fits(shape.of, value);
		case 'list':
			return Array.isArray(value) && value.length === 0;
		case 'map':
			return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every((item) => fits(shape.of, item));
		case 'struct':
			return false;
	}
}

interface Change {
	readonly what: string;
	readonly accepted: boolean;
	readonly value: unknown;
}

const ODD: readonly unknown[] = [null, true, 0, -1, 1.5, Infinity, 2 ** 60, '', 'no such word', [], [[]], {}, [null], { error: 1 }];

/** Every way to put one odd value in one place of a fitting value. */
function* changes(shape: Shape, value: unknown, at: string): Generator<Change> {
	for (const odd of ODD) {
		yield { what: `${at} = ${JSON.stringify(odd)}`, accepted: fits(shape, odd), value: odd };
	}
	if (shape.is === 'nullable') {
		for (const change of changes(shape.of, value, at)) {
			// The inner shape does not know that null is welcome here.
			if (change.what !== `${at} = null`) {
				yield change;
			}
		}
	} else if (shape.is === 'list' && Array.isArray(value)) {
		for (const change of changes(shape.of, value[1], `${at}[1]`)) {
			yield { ...change, value: [value[0], change.value] };
		}
	} else if (shape.is === 'map') {
		for (const change of changes(shape.of, (value as Record<string, unknown>)['one'], `${at}.one`)) {
			yield { ...change, value: { one: change.value } };
		}
	} else if (shape.is === 'struct') {
		const whole = value as Record<string, unknown>;
		for (const [field, { shape: inner, or }] of Object.entries(SHAPES[shape.name] ?? {})) {
			if (field !== 'contract') {
				const rest = Object.fromEntries(Object.entries(whole).filter(([key]) => key !== field));
				yield { what: `${at}.${field} absent`, accepted: or !== undefined, value: rest };
				for (const change of changes(inner, whole[field], `${at}.${field}`)) {
					yield { ...change, value: { ...whole, [field]: change.value } };
				}
			}
		}
	}
}

describe.each(VERBS)('a reply of %s', (verb) => {
	const shape: Shape = { is: 'struct', name: REPLY_SHAPES[verb] };

	test('is taken when it fits, and is a copy', () => {
		const value = sample(shape);
		const answer = readReply(verb, value);
		expect(answer).toEqual({ ok: true, reply: value });
		expect(answer.ok && answer.reply).not.toBe(value);
	});

	test('is refused for any one thing that does not fit, and only then', () => {
		let count = 0;
		for (const { what, accepted, value } of changes(shape, sample(shape), '')) {
			if (typeof value === 'object' && value !== null && Object.hasOwn(value, 'contract')) {
				expect([what, readReply(verb, value).ok]).toEqual([what, accepted]);
				count += 1;
			}
		}
		expect(count).toBeGreaterThan(20);
	});

	test('may say more than we know, which is left out', () => {
		const value = sample(shape) as Record<string, unknown>;
		expect(readReply(verb, { ...value, later_field: [1] })).toEqual({ ok: true, reply: value });
	});
});

test('fields that an older core does not send have their defaults, never shared', () => {
	const first = readReply('query', { contract: 1, vault: '/v', folder: 'vir' });
	const second = readReply('query', { contract: 1, vault: '/v', folder: 'vir' });
	expect(first).toEqual({ ok: true, reply: { contract: 1, vault: '/v', folder: 'vir', hits: [], method: 'lexical', degraded: null, excluded: {}, truncated: 0, took_ms: 0 } });
	expect(first.ok && second.ok && first.reply.hits !== second.reply.hits).toBe(true);
});

test.each([null, undefined, 1, 'text', true, [], [DOCTOR], {}, { contract: '1' }, { contract: 1.5 }, { contract: null }])('%j is no reply', (value) => {
	expect(readReply('doctor', value)).toMatchObject({ ok: false, error: { kind: 'internal' } });
});

test.each([CONTRACT + 1, 0, -1, 99])('contract %i is not supported', (contract) => {
	expect(readReply('doctor', { ...DOCTOR, contract })).toMatchObject({ ok: false, error: { kind: 'unsupported_contract' } });
	expect(readReply('doctor', DOCTOR).ok).toBe(true);
});

test('a newer core asks for a newer plugin, an older one for a newer core', () => {
	expect(readReply('doctor', { contract: CONTRACT + 1 })).toMatchObject({ error: { hint: expect.stringContaining('plugin') as string } });
	expect(readReply('doctor', { contract: 0 })).toMatchObject({ error: { hint: expect.stringContaining('vir-core') as string } });
});

test.each(ERROR_KINDS)('the error kind %s is passed on', (kind) => {
	expect(readReply('run', { error: { kind, message: 'm', hint: 'h' } })).toEqual({ ok: false, error: { kind, message: 'm', hint: 'h' } });
});

test('an unknown error kind is internal and keeps its words', () => {
	expect(readReply('run', { error: { kind: 'moon_phase', message: 'm' } })).toEqual({ ok: false, error: { kind: 'internal', message: 'm', hint: '' } });
});

test.each([null, 'text', [], {}, { kind: 'busy' }, { message: 'm' }, { kind: 1, message: 'm' }])('the error %j is unreadable, not a crash', (error) => {
	expect(readReply('run', { error })).toMatchObject({ ok: false, error: { kind: 'internal' } });
});

test('an error beside a reply is an error', () => {
	expect(readReply('doctor', { ...DOCTOR, error: { kind: 'busy', message: 'm' } })).toMatchObject({ ok: false, error: { kind: 'busy' } });
});

test('a key called __proto__ changes no object', () => {
	const value: unknown = JSON.parse('{"contract":1,"vault":"","folder":"","excluded":{"__proto__":1},"__proto__":{"hits":[1]}}');
	const answer = readReply('query', value);
	expect(answer.ok && Object.hasOwn(answer.reply.excluded, '__proto__')).toBe(true);
	expect(({} as Record<string, unknown>)['hits']).toBeUndefined();
	const nested: unknown = JSON.parse('{"contract":1,"vault":"","folder":"","excluded":{"__proto__":{"polluted":1}}}');
	expect(readReply('query', nested).ok).toBe(false);
});

test('a reply nested thousands deep is refused without running out of stack', () => {
	const deep = '['.repeat(5_000) + ']'.repeat(5_000);
	expect(readReply('query', { contract: 1, vault: '', folder: '', hits: JSON.parse(deep) as unknown }).ok).toBe(false);
});
