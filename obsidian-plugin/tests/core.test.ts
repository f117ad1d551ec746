import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { call } from '../src/core/client';
import { CONTRACT } from '../src/core/contract';
import { thisMachine } from './support';

const beside = resolve(import.meta.dirname, '../../.venv', process.platform === 'win32' ? 'Scripts/vir_core.exe' : 'bin/vir_core');
const core = process.env['VIR_CORE'] ?? beside;

if (!existsSync(core)) {
	console.warn(`no vir_core at ${core}: the plugin is not tested against a real one (set VIR_CORE to its path)`);
}

describe.skipIf(!existsSync(core))('the real core', () => {
	const inSandbox = async (): Promise<Awaited<ReturnType<typeof thisMachine>>> => {
		const machine = await thisMachine();
		const home = await mkdtemp(join(tmpdir(), 'vir-home-'));
		return { ...machine, home, env: { PATH: machine.env['PATH'], HOME: home, USERPROFILE: home, VIR_STATE_DIR: join(home, 'state') } };
	};

	test('answers doctor in a shape that the plugin reads', async () => {
		const answer = await call(await inSandbox(), core, 'doctor', {}, { timeout: 60_000 });
		expect(answer).toMatchObject({ ok: true, reply: { contract: CONTRACT, version: expect.stringMatching(/^\d+\.\d+/) as string } });
	}, 70_000);

	test('answers a vault that is not there with an error that the plugin reads', async () => {
		const machine = await inSandbox();
		const answer = await call(machine, core, 'query', { text: 'x', vault: join(machine.home, 'absent') }, { timeout: 60_000 });
		expect(answer).toMatchObject({ ok: false, error: { kind: expect.stringMatching(/no_vault|not_found/) as string } });
	}, 70_000);
});
