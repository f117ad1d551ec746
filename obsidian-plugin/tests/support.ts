import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { desktop } from '../src/desktop';
import type { Machine } from '../src/core/machine';

/** The machine the tests run on, as the plugin sees it inside Obsidian. */
export async function thisMachine(): Promise<Machine> {
	const machine = await desktop();
	if (machine === null) {
		throw new Error('the stand-in for Obsidian says this is no desktop');
	}
	return machine;
}

/** Programs that stand in for vir_core: real files, started as real processes. */
export function programs(): (name: string, body: string) => Promise<string> {
	let folder = '';
	beforeAll(async () => {
		folder = await mkdtemp(join(tmpdir(), 'vir plugin ')); // a blank in the path, as on many a Windows machine
	});
	afterAll(async () => {
		await rm(folder, { recursive: true, force: true });
	});
	return async (name, body) => {
		const path = join(folder, name);
		await writeFile(path, `#!${process.execPath}\n${body}\n`);
		await chmod(path, 0o755);
		return path;
	};
}

export const DOCTOR = {
	contract: 1,
	version: '0.1.0',
	python: '3.11.7',
	vault: null,
	journal: null,
	index: null,
	sources: [],
	last_run: null,
	problems: [],
	archive: null,
};
