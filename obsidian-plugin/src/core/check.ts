import { call } from './client';
import { CONTRACT } from './contract';
import type { DoctorReply } from './contract';
import { locate, readTypedPath } from './locate';
import type { Machine } from './machine';
import { failure } from './validate';
import type { Answer } from './validate';

export interface Checked {
	/** The program that was asked, or null when there was none to ask. */
	readonly path: string | null;
	readonly answer: Answer<DoctorReply>;
}

/** Asks vir_core how it is. `typed` is the person's path, empty to look in the usual places; `vault` is absolute. */
export async function check(machine: Machine, typed: string, vault: string): Promise<Checked> {
	const path = typed === '' ? await locate(machine) : readTypedPath(typed, machine);
	if (path === null) {
		return { path: null, answer: failure('not_found', 'vir_core was not found on this computer.', 'Install it with `uv tool install vir-core`, or give its path.') };
	}
	if (typeof path === 'object' && 'problem' in path) {
		return { path: null, answer: failure('invalid_request', path.problem) };
	}
	const program = typeof path === 'string' ? path : path.path;
	return { path: program, answer: await call(machine, program, 'doctor', { vault }) };
}

/** A check in words, one line each: what was found first, then what is wrong and what helps. */
export function describe({ path, answer }: Checked): readonly string[] {
	if (!answer.ok) {
		return [answer.error.message, answer.error.hint].filter((line) => line !== '');
	}
	const { version, contract, vault, problems } = answer.reply;
	return [
		`vir_core ${version} at ${path ?? ''}, contract ${contract}${contract === CONTRACT ? '' : `, plugin ${CONTRACT}`}.`,
		vault === null ? 'This vault has no vir folder yet.' : `${vault.notes} ${vault.notes === 1 ? 'note' : 'notes'} in ${vault.folder}.`,
		...problems.map(({ what, why, fix }) => [what, why, fix].filter((part) => part !== '').join(' ')),
	];
}
