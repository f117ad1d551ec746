import type { Replies, Requests, Verb } from './contract';
import type { Child, Machine } from './machine';
import { failure, readReply } from './validate';
import type { Answer } from './validate';

export interface CallOptions {
	/** After this many milliseconds the process is ended and the call fails. */
	readonly timeout?: number;
	readonly signal?: AbortSignal;
}

/** Milliseconds a process has to end by itself after it was asked to. */
const GRACE = 2_000;
/** Bytes of output after which a process is taken to have gone wrong. */
const MOST = 64 * 1024 * 1024;
const TIMEOUTS: Readonly<Partial<Record<Verb, number>>> = { run: 30 * 60_000, uninstall: 5 * 60_000 };
const TIMEOUT = 20_000;

/**
 * Asks the core at `path` (absolute) one thing in a process of its own.
 *
 * The request goes in on standard input and exactly one JSON value comes out; arguments are a list and no shell is
 * involved, so nothing a person wrote is ever read as a command. Never rejects: whatever goes wrong is in the answer.
 */
export async function call<V extends Verb>(machine: Machine, path: string, verb: V, request: Requests[V], options: CallOptions = {}): Promise<Answer<Replies[V]>> {
	const ended = await run(machine, path, verb, JSON.stringify(request), options);
	return ended.ok ? readOutput(verb, ended.reply) : ended;
}

interface Output {
	readonly bytes: Uint8Array;
	readonly code: number | null;
}

function readOutput<V extends Verb>(verb: V, { bytes, code }: Output): Answer<Replies[V]> {
	const said = code === null ? 'It was ended from outside.' : `It ended with code ${code}.`;
	if (bytes.length === 0) {
		return failure('internal', `vir_core said nothing. ${said}`, `Run \`vir_core ${verb}\` in a terminal to see why.`);
	}
	let value: unknown;
	try {
		value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
	} catch {
		return failure('internal', `vir_core did not answer in JSON. ${said}`, 'Check that the path names vir_core and not another program.');
	}
	const answer = readReply(verb, value);
	// 0 and 1 are how a reply ends; anything else broke after or while writing it.
	if (answer.ok && code !== 0 && code !== 1) {
		return failure('internal', `vir_core answered and then failed. ${said}`, `Run \`vir_core ${verb}\` in a terminal to see why.`);
	}
	return answer;
}

function run(machine: Machine, path: string, verb: Verb, request: string, options: CallOptions): Promise<Answer<Output>> {
	const { signal, timeout = TIMEOUTS[verb] ?? TIMEOUT } = options;
	return new Promise((resolve) => {
		if (signal?.aborted === true) {
			resolve(cancelled());
			return;
		}
		const chunks: Uint8Array[] = [];
		let size = 0;
		let child: Child | null = null;
		let settled = false;
		let leaveAlone = nothing;

		const settle = (answer: Answer<Output>): void => {
			settled = true;
			stopClock();
			signal?.removeEventListener('abort', abort);
			resolve(answer);
		};
		const giveUp = (answer: Answer<Output>): void => {
			if (settled) {
				return;
			}
			settle(answer);
			child?.stop(false);
			leaveAlone = machine.after(GRACE, () => child?.stop(true));
		};
		const abort = (): void => giveUp(cancelled());
		const stopClock = machine.after(timeout, () => giveUp(tooSlow(timeout)));
		signal?.addEventListener('abort', abort);

		try {
			// In the home folder, because the core looks for a vault around the folder it is started in.
			child = machine.start(path, [verb, '--json', '-'], { cwd: machine.home, env: { ...machine.env, LANCE_LOG: 'error' } });
		} catch (error) {
			settle(noStart(path, error instanceof Error ? error.message : 'unknown reason'));
			return;
		}
		child.onOutput((chunk) => {
			size += chunk.length;
			if (size > MOST) {
				giveUp(tooMuch());
			} else {
				chunks.push(chunk);
			}
		});
		child.onEnd((code) => {
			leaveAlone();
			if (!settled) {
				settle({ ok: true, reply: { bytes: joined(chunks, size), code } });
			}
		});
		child.onNoStart((code) => {
			leaveAlone();
			if (!settled) {
				settle(noStart(path, code));
			}
		});
		child.send(request);
	});
}

function nothing(): void {
	// until there is a timer to stop
}

function tooSlow(timeout: number): Answer<never> {
	return failure('internal', `vir_core did not answer within ${Math.ceil(timeout / 1000)} s.`, 'Try again; if it stays so, run `vir_core doctor` in a terminal.');
}

function tooMuch(): Answer<never> {
	return failure('internal', 'vir_core said far more than any answer has.', 'Check that the path names vir_core and not another program.');
}

function cancelled(): Answer<never> {
	return failure('cancelled', 'Stopped before vir_core had answered.');
}

function noStart(path: string, code: string): Answer<never> {
	switch (code) {
		case 'ENOENT':
			return failure('not_found', `There is no program at ${path}.`, 'Correct the path, or install vir_core with `uv tool install vir-core`.');
		case 'EACCES':
		case 'EPERM':
			return failure('not_found', `${path} may not be run.`, 'Check that it is a program and that you may run it.');
		default:
			return failure('internal', `${path} could not be started (${code}).`, 'Check that the path names vir_core.');
	}
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
	const all = new Uint8Array(size);
	let at = 0;
	for (const chunk of chunks) {
		all.set(chunk, at);
		at += chunk.length;
	}
	return all;
}
