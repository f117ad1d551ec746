import { describe, expect, test } from 'vitest';
import { candidates, locate, readTypedPath, usual } from '../src/core/locate';
import type { Machine } from '../src/core/machine';

function machine(os: Machine['os'], home: string, env: Machine['env'] = {}, files: readonly string[] = []): Machine {
	return {
		os,
		home,
		env,
		isFile: (path) => Promise.resolve(files.includes(path)),
		after: () => () => undefined,
		start: () => {
			throw new Error('nothing is started here');
		},
	};
}

const linux = machine('linux', '/home/ada');
const windows = machine('windows', 'C:\\Users\\Ada L');

describe('a typed path', () => {
	test.each([
		[linux, '/opt/vir/vir_core', '/opt/vir/vir_core'],
		[linux, '  "/opt/my tools/vir_core" ', '/opt/my tools/vir_core'],
		[linux, "'/opt/x'", '/opt/x'],
		[linux, '~/.local/bin/vir_core', '/home/ada/.local/bin/vir_core'],
		[windows, 'C:\\tools\\vir_core.exe', 'C:\\tools\\vir_core.exe'],
		[windows, 'c:/tools/vir_core.exe', 'c:/tools/vir_core.exe'],
		[windows, '~\\bin\\vir_core.exe', 'C:\\Users\\Ada L\\bin\\vir_core.exe'],
		[windows, '\\\\server\\share\\vir_core.exe', '\\\\server\\share\\vir_core.exe'],
	])('%#: %s', (on, typed, path) => {
		expect(readTypedPath(typed, on)).toEqual({ path });
	});

	test.each([
		[linux, 'vir_core'],
		[linux, './vir_core'],
		[linux, '~bob/vir_core'],
		[linux, 'C:\\tools\\vir_core.exe'],
		[linux, '/bin/\0vir_core'],
		[windows, 'vir_core.exe'],
		[windows, 'C:vir_core.exe'],
		[windows, '/usr/bin/vir_core'],
		[windows, 'C:\\tools\\vir_core.CMD'],
		[windows, 'C:\\tools\\vir_core.bat'],
	])('%#: %j is refused with a reason', (on, typed) => {
		expect(readTypedPath(typed, on)).toEqual({ problem: expect.stringMatching(/\w/) as string });
	});
});

describe('the search', () => {
	test('prefers what the installer was told, then its usual place, then PATH, and tries nothing twice', () => {
		const on = machine('linux', '/home/ada', { UV_TOOL_BIN_DIR: '/srv/bin/', PATH: '/usr/bin:/home/ada/.local/bin::relative:/snap/bin' });
		expect(candidates(on)).toEqual([
			'/srv/bin/vir_core',
			'/home/ada/.local/bin/vir_core',
			'/opt/homebrew/bin/vir_core',
			'/usr/local/bin/vir_core',
			'/usr/bin/vir_core',
			'/snap/bin/vir_core',
		]);
	});

	test('never looks in the current folder, which an empty part of PATH would mean', () => {
		for (const path of candidates(machine('linux', '/home/ada', { PATH: ':.:bin' }))) {
			expect(path.startsWith('/')).toBe(true);
			expect(path).not.toBe('/vir_core');
		}
	});

	test('knows Windows', () => {
		const on = machine('windows', 'C:\\Users\\Ada L', { Path: 'D:\\bin\\;C:\\Windows' });
		expect(candidates(on)).toEqual(['C:\\Users\\Ada L\\.local\\bin\\vir_core.exe', 'D:\\bin\\vir_core.exe', 'C:\\Windows\\vir_core.exe']);
		expect(usual(on)).toBe('C:\\Users\\Ada L\\.local\\bin\\vir_core.exe');
	});

	test('takes the first that is there, or says there is none', async () => {
		const files = ['/usr/local/bin/vir_core', '/usr/bin/vir_core'];
		expect(await locate(machine('mac', '/Users/ada', {}, files))).toBe('/usr/local/bin/vir_core');
		expect(await locate(machine('mac', '/Users/ada'))).toBeNull();
	});
});
