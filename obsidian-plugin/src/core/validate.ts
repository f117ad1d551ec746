import { CONTRACT, ERROR_KINDS, REPLY_SHAPES, SHAPES } from './contract';
import type { ErrorKind, Replies, Shape, Verb, WireError } from './contract';

/** What a call comes to: the reply, or why there is none. */
export type Answer<T> = { readonly ok: true; readonly reply: T } | { readonly ok: false; readonly error: WireError };

/** An answer without a reply. */
export function failure(kind: ErrorKind, message: string, hint = ''): { readonly ok: false; readonly error: WireError } {
	return { ok: false, error: { kind, message, hint } };
}

/**
 * Turns one parsed JSON value into the reply of `verb`.
 *
 * The reply is a copy that holds the known fields and nothing else: what a newer core added is left out, what an older
 * one did not send yet has its default. A value that does not fit gives `internal`, a contract that is neither ours nor
 * the one before gives `unsupported_contract`.
 */
export function readReply<V extends Verb>(verb: V, value: unknown): Answer<Replies[V]> {
	if (!isObject(value)) {
		return unreadable('the answer is not an object');
	}
	if (Object.hasOwn(value, 'error')) {
		return readError(value);
	}
	const contract = value['contract'];
	if (!Number.isSafeInteger(contract)) {
		return unreadable('the answer does not say which contract it follows');
	}
	if (!isSupported(contract as number)) {
		return unsupported(contract as number);
	}
	try {
		// The copy was just made to the shape that the type was generated from.
		return { ok: true, reply: readStruct(REPLY_SHAPES[verb], value, '') as Replies[V] };
	} catch (error) {
		if (error instanceof Misfit) {
			return unreadable(error.message);
		}
		throw error;
	}
}

function isSupported(contract: number): boolean {
	return contract === CONTRACT || (contract === CONTRACT - 1 && contract >= 1);
}

function unsupported(contract: number): Answer<never> {
	return contract > CONTRACT
		? failure('unsupported_contract', 'The installed vir_core is newer than this plugin.', 'Update the plugin in the community plugins list.')
		: failure('unsupported_contract', 'The installed vir_core is too old for this plugin.', 'Run `uv tool upgrade vir-core` in a terminal.');
}

/** A kind that we do not know yet is shown as `internal`, with the words the core gave it. */
function readError(value: Readonly<Record<string, unknown>>): Answer<never> {
	const error = value['error'];
	if (!isObject(error) || typeof error['kind'] !== 'string' || typeof error['message'] !== 'string') {
		return unreadable('the error has no kind or no message');
	}
	const kind = ERROR_KINDS.find((known) => known === error['kind']) ?? 'internal';
	return failure(kind, error['message'], typeof error['hint'] === 'string' ? error['hint'] : '');
}

function unreadable(why: string): Answer<never> {
	return failure('internal', `vir_core gave an answer that this plugin cannot read: ${why}.`, 'Update both vir_core and the plugin.');
}

class Misfit extends Error {}

function readStruct(name: string, value: unknown, at: string): unknown {
	const fields = SHAPES[name];
	if (fields === undefined) {
		throw new Misfit(`there is no shape ${name}`);
	}
	if (!isObject(value)) {
		throw new Misfit(`${at} should be an object`);
	}
	const copy: Record<string, unknown> = {};
	for (const [field, { shape, or }] of Object.entries(fields)) {
		const place = at === '' ? field : `${at}.${field}`;
		if (Object.hasOwn(value, field)) {
			copy[field] = read(shape, value[field], place);
		} else if (or !== undefined) {
			copy[field] = structuredClone(or);
		} else {
			throw new Misfit(`${place} is missing`);
		}
	}
	return copy;
}

function read(shape: Shape, value: unknown, at: string): unknown {
	switch (shape.is) {
		case 'string':
			return expect(typeof value === 'string', value, at, 'a text');
		case 'boolean':
			return expect(typeof value === 'boolean', value, at, 'true or false');
		case 'integer':
			return expect(Number.isSafeInteger(value), value, at, 'a whole number');
		case 'number':
			return expect(Number.isFinite(value), value, at, 'a number');
		case 'word':
			return expect(shape.of.some((word) => word === value), value, at, `one of ${shape.of.join(', ')}`);
		case 'nullable':
			return value === null ? null : read(shape.of, value, at);
		case 'struct':
			return readStruct(shape.name, value, at);
		case 'list':
			if (!Array.isArray(value)) {
				throw new Misfit(`${at} should be a list`);
			}
			return value.map((item, index) => read(shape.of, item, `${at}[${index}]`));
		case 'map':
			if (!isObject(value)) {
				throw new Misfit(`${at} should be an object`);
			}
			// fromEntries defines the keys instead of assigning them, so that `__proto__` is a key like any other.
			return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, read(shape.of, item, `${at}.${key}`)]));
	}
}

function expect(fits: boolean, value: unknown, at: string, what: string): unknown {
	if (!fits) {
		throw new Misfit(`${at} should be ${what}`);
	}
	return value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
