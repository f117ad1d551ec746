import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { compileFunction } from 'node:vm';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as obsidian from './__mocks__/obsidian';
import { DOCTOR, programs } from './support';

const root = resolve(import.meta.dirname, '..');
const read = (name: string): Promise<string> => readFile(resolve(root, name), 'utf8');
const build = (): Promise<unknown> => promisify(execFile)(process.execPath, ['esbuild.config.mjs', 'production'], { cwd: root });
let bundle = '';

type PluginClass = new (app: obsidian.App, manifest: unknown) => obsidian.Plugin & { onload(): Promise<void> };

/** Loads main.js as Obsidian does: as CommonJS, with a `require` that knows Obsidian and Node. */
async function loaded(app: obsidian.App): Promise<obsidian.Plugin> {
	const { createRequire } = await import('node:module');
	const node = createRequire(import.meta.url);
	const module = { exports: {} as { default?: PluginClass } };
	const require = (name: string): unknown => (name === 'obsidian' ? obsidian : (node(name) as unknown));
	const wrapped = compileFunction(bundle, ['module', 'exports', 'require']) as (...handed: unknown[]) => void;
	wrapped(module, module.exports, require);
	const Plugin = module.exports.default;
	if (Plugin === undefined) {
		throw new Error('main.js has no default export');
	}
	const plugin = new Plugin(app, JSON.parse(await read('manifest.json')));
	await plugin.onload();
	return plugin;
}

beforeAll(async () => {
	await build();
	bundle = await read('main.js');
});

test('a second build gives the same bytes, with nothing of this machine in them', async () => {
	await build();
	expect(await read('main.js')).toBe(bundle);
	expect(bundle).not.toContain(root);
	expect(bundle).not.toContain('sourceMappingURL');
});

test('versions agree', async () => {
	const manifest = JSON.parse(await read('manifest.json')) as Record<string, string>;
	const packaged = JSON.parse(await read('package.json')) as Record<string, string>;
	const versions = JSON.parse(await read('versions.json')) as Record<string, string>;
	expect(packaged['version']).toBe(manifest['version']);
	expect(versions[manifest['version'] ?? '']).toBe(manifest['minAppVersion']);
});

describe.skipIf(process.platform === 'win32')('the settings', () => {
	const program = programs();
	let app: obsidian.App;

	beforeEach(() => {
		obsidian.Setting.made.length = 0;
		app = new obsidian.App('/my vault');
	});

	async function rows(): Promise<readonly [obsidian.Setting, obsidian.Setting]> {
		const plugin = await loaded(app);
		(plugin.tabs[0] as unknown as { display(): void }).display();
		const [path, connection] = obsidian.Setting.made;
		if (path === undefined || connection === undefined) {
			throw new Error('two rows were expected');
		}
		return [path, connection];
	}
	const shown = (row: obsidian.Setting): readonly string[] => row.descEl.children.map(({ text }) => text);

	test('ask the program that was typed, about this vault, and show what it says', async () => {
		const problem = { what: 'Two notes are not found by search.', why: 'Their properties were broken.', fix: 'Mend them.' };
		const vault = { path: '/my vault', folder: 'vir', id: 'v1', notes: 12 };
		const path = await program(
			'core',
			`const request = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
			process.stdout.write(JSON.stringify({ ...${JSON.stringify({ ...DOCTOR, vault, problems: [problem] })}, version: 'for ' + request.vault }));`,
		);
		const [typed, connection] = await rows();
		typed.texts[0]?.type(`  ${path} `);
		await connection.buttons[0]?.click();
		expect(shown(connection)).toEqual([`vir_core for /my vault at ${path}, contract 1.`, '12 notes in vir.', 'Two notes are not found by search. Their properties were broken. Mend them.']);
		expect(connection.buttons[0]?.disabled).toBe(false);
	});

	test('say what is wrong and what to do', async () => {
		const [typed, connection] = await rows();
		typed.texts[0]?.type('/nowhere/vir_core');
		await connection.buttons[0]?.click();
		expect(shown(connection)).toEqual(['There is no program at /nowhere/vir_core.', expect.stringContaining('uv tool install vir-core')]);
		typed.texts[0]?.type('vir_core');
		await connection.buttons[0]?.click();
		expect(shown(connection)).toEqual([expect.stringContaining('Give the whole path')]);
	});

	test('keep the path on this computer, and forget it when it is emptied', async () => {
		const [typed] = await rows();
		typed.texts[0]?.type('/opt/vir_core');
		expect([...app.stored]).toEqual([['vir-core-path', '/opt/vir_core']]);
		typed.texts[0]?.type(' ');
		expect([...app.stored]).toEqual([]);
	});

	test('are the same rows for search and for older versions of Obsidian', async () => {
		const plugin = await loaded(app);
		const tab = plugin.tabs[0] as unknown as { display(): void; getSettingDefinitions(): readonly { name: string; desc: string }[] };
		tab.display();
		expect(tab.getSettingDefinitions().map(({ name, desc }) => [name, desc])).toEqual(obsidian.Setting.made.map(({ name, desc }) => [name, desc]));
	});

	test('on a phone say that vir runs on a computer, and load no part of Node', async () => {
		obsidian.Platform.isDesktop = false;
		try {
			const plugin = await loaded(app);
			(plugin.tabs[0] as unknown as { display(): void }).display();
			expect(obsidian.Setting.made.map(({ name }) => name)).toEqual(['Desktop only']);
		} finally {
			obsidian.Platform.isDesktop = true;
		}
	});
});
