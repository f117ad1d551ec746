import { beforeAll, describe, expect, test, vi } from 'vitest';
import { call } from '../src/core/client';
import type { Machine } from '../src/core/machine';
import { DOCTOR, programs, thisMachine } from './support';

let machine: Machine;
const program = programs();
const answer = (value: unknown): string => `process.stdout.write(${JSON.stringify(JSON.stringify(value))});`;

beforeAll(async () => {
	machine = await thisMachine();
});

describe.skipIf(process.platform === 'win32')('a call', () => {
	test('brings back the reply', async () => {
		const path = await program('good', answer(DOCTOR));
		expect(await call(machine, path, 'doctor', {})).toEqual({ ok: true, reply: DOCTOR });
	});

	test('hands over the request whole, as one JSON object on standard input, with no shell between', async () => {
		const echo = `
			const { readFileSync } = require('node:fs');
			const seen = { input: readFileSync(0, 'utf8'), args: process.argv.slice(2), log: process.env.LANCE_LOG, cwd: process.cwd() };
			process.stdout.write(JSON.stringify({ contract: 1, vault: JSON.stringify(seen), folder: '' }));`;
		const text = '"; rm -rf ~ #\n$(touch x) `id` 你好 \u{1F600} \\ %PATH%';
		const got = await call(machine, await program('echo', echo), 'query', { text, vault: '/a vault', limit: 3 });
		const seen = JSON.parse(got.ok ? got.reply.vault : 'null') as unknown;
		expect(seen).toEqual({ input: JSON.stringify({ text, vault: '/a vault', limit: 3 }), args: ['query', '--json', '-'], log: 'error', cwd: machine.home });
	});

	test('takes a reply in pieces that cut a character in two', async () => {
		const reply = { ...DOCTOR, version: '你好 \u{1F600}' };
		const body = `const all = Buffer.from(${JSON.stringify(JSON.stringify(reply))}); let at = 0;
			const next = () => { if (at < all.length) { process.stdout.write(all.subarray(at, at + 1)); at += 1; setImmediate(next); } }; next();`;
		expect(await call(machine, await program('pieces', body), 'doctor', {})).toEqual({ ok: true, reply });
	});

	test('reads nothing from standard error and is not held up by it', async () => {
		const path = await program('noisy', `require('node:fs').writeSync(2, '{"error":{}}'.repeat(100_000)); ${answer(DOCTOR)}`);
		expect((await call(machine, path, 'doctor', {})).ok).toBe(true);
	});

	test('takes a reply that ends with 1, because some things in it failed', async () => {
		const path = await program('partly', `${answer(DOCTOR)} process.exitCode = 1;`);
		expect((await call(machine, path, 'doctor', {})).ok).toBe(true);
	});

	test('gives the error the core gave', async () => {
		const error = { kind: 'busy', message: 'run by 12 for 3 s', hint: 'wait' };
		const path = await program('busy', `${answer({ error })} process.exitCode = 1;`);
		expect(await call(machine, path, 'run', {})).toEqual({ ok: false, error });
	});

	test.each([
		['nothing', ''],
		['a traceback', `process.stdout.write('Traceback (most recent call last):'); process.exitCode = 1;`],
		['two values', `${answer(DOCTOR)} process.stdout.write('\\n{}');`],
		['half a value', `process.stdout.write('{"contract":1,"ver');`],
		['bytes that are no text', `process.stdout.write(Buffer.from([0x22, 0xff, 0x22]));`],
		['a reply and then a crash', `${answer(DOCTOR)} process.exitCode = 3;`],
		['a reply and then a signal', `process.stdout.write(${JSON.stringify(JSON.stringify(DOCTOR))}, () => process.kill(process.pid, 'SIGKILL')); setInterval(() => 0, 1000);`],
	])('%s is an internal error', async (name, body) => {
		expect(await call(machine, await program(name, body), 'doctor', {})).toMatchObject({ ok: false, error: { kind: 'internal' } });
	});

	test('survives a program that ends without reading a large request', async () => {
		const path = await program('deaf', 'process.exit(2);');
		expect(await call(machine, path, 'query', { text: 'x'.repeat(5_000_000) })).toMatchObject({ ok: false, error: { kind: 'internal' } });
	});

	test('says what is wrong when there is no such program, or it may not run, or it is none', async () => {
		const { chmod, writeFile } = await import('node:fs/promises');
		const locked = await program('locked', answer(DOCTOR));
		await chmod(locked, 0o644);
		const empty = await program('empty', '');
		await writeFile(empty, 'neither script nor binary \0');
		expect(await call(machine, `${locked}-absent`, 'doctor', {})).toMatchObject({ ok: false, error: { kind: 'not_found' } });
		expect(await call(machine, locked, 'doctor', {})).toMatchObject({ ok: false, error: { kind: 'not_found' } });
		expect((await call(machine, empty, 'doctor', {})).ok).toBe(false);
		expect((await call(machine, '/bin/\0sh', 'doctor', {})).ok).toBe(false);
	});

	test('that takes too long is given up and its process is ended, even one that will not listen', async () => {
		const { mkdtemp, readFile } = await import('node:fs/promises');
		const { tmpdir } = await import('node:os');
		const file = `${await mkdtemp(`${tmpdir()}/vir-pid-`)}/pid`;
		const path = await program('stubborn', `process.on('SIGTERM', () => 0); require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => 0, 1000);`);
		expect(await call(machine, path, 'doctor', {}, { timeout: 500 })).toMatchObject({ ok: false, error: { kind: 'internal', message: expect.stringContaining('1 s') as string } });
		const pid = Number(await readFile(file, 'utf8'));
		const alive = (): boolean => {
			try {
				return process.kill(pid, 0);
			} catch {
				return false;
			}
		};
		expect(alive()).toBe(true);
		await vi.waitFor(() => expect(alive()).toBe(false), { timeout: 8_000, interval: 100 });
	}, 15_000);

	test('can be stopped, before it starts and while it runs', async () => {
		const path = await program('slow', 'setInterval(() => 0, 1000);');
		const control = new AbortController();
		const running = call(machine, path, 'run', {}, { signal: control.signal });
		window.setTimeout(() => control.abort(), 100);
		expect(await running).toMatchObject({ ok: false, error: { kind: 'cancelled' } });
		expect(await call(machine, path, 'run', {}, { signal: control.signal })).toMatchObject({ ok: false, error: { kind: 'cancelled' } });
	});

	test('gives up on a program that never stops talking', async () => {
		const path = await program('flood', `const chunk = Buffer.alloc(1 << 20, 32); const on = () => { while (process.stdout.write(chunk)); process.stdout.once('drain', on); }; on();`);
		expect(await call(machine, path, 'doctor', {})).toMatchObject({ ok: false, error: { kind: 'internal', message: expect.stringContaining('far more') as string } });
	}, 20_000);
});
