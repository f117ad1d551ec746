import type { Machine } from './machine';

/** The path a person typed, made absolute, or why it cannot be used. */
export type TypedPath = { readonly path: string } | { readonly problem: string };

/**
 * Reads a path as typed or pasted: blanks and one pair of quotes around it go, `~` is the home folder.
 *
 * A bare name is refused, because a desktop app does not see the PATH of a terminal and would start something else.
 * Batch files are refused, because Windows runs them through a shell, which reads meaning into arguments.
 */
export function readTypedPath(typed: string, machine: Machine): TypedPath {
	const bare = typed.trim().replace(/^"(.*)"$/, '$1').replace(/^'(.*)'$/, '$1');
	const path = /^~(?=[\\/]|$)/.test(bare) ? machine.home + bare.slice(1) : bare;
	if (path.includes('\0')) {
		return { problem: 'This path has a character in it that no path can have.' };
	}
	const windows = machine.os === 'windows';
	if (!(windows ? /^([A-Za-z]:[\\/]|\\\\)/ : /^\//).test(path)) {
		return { problem: `Give the whole path, such as ${usual(machine)}.` };
	}
	if (windows && /\.(bat|cmd|ps1)$/i.test(path)) {
		return { problem: 'Give the .exe file, not a script.' };
	}
	return { path };
}

/** Where `uv tool install vir-core` puts the command unless told otherwise. */
export function usual(machine: Machine): string {
	return join(machine, machine.home, '.local', 'bin', name(machine));
}

/** Every place where the command may stand, likeliest first, each once. */
export function candidates(machine: Machine): readonly string[] {
	const { env, os } = machine;
	const set = ['UV_TOOL_BIN_DIR', 'XDG_BIN_HOME'].map((key) => env[key] ?? '');
	const common = os === 'windows' ? [] : ['/opt/homebrew/bin', '/usr/local/bin', '/usr/bin'];
	const searched = (env['PATH'] ?? env['Path'] ?? '').split(os === 'windows' ? ';' : ':');
	const folders = [...set, join(machine, machine.home, '.local', 'bin'), ...common, ...searched];
	// An empty part of PATH means the current folder, which is no place to take a program from.
	const paths = folders.filter((folder) => folder !== '').map((folder) => readTypedPath(join(machine, folder, name(machine)), machine));
	return [...new Set(paths.flatMap((found) => ('path' in found ? [found.path] : [])))];
}

/** The first candidate that is there, or null. */
export async function locate(machine: Machine): Promise<string | null> {
	for (const path of candidates(machine)) {
		if (await machine.isFile(path)) {
			return path;
		}
	}
	return null;
}

function name(machine: Machine): string {
	return machine.os === 'windows' ? 'vir_core.exe' : 'vir_core';
}

function join(machine: Machine, ...parts: readonly string[]): string {
	return parts.map((part, index) => (index === 0 ? part.replace(/(.)[\\/]+$/, '$1') : part)).join(machine.os === 'windows' ? '\\' : '/');
}
