import { Platform } from 'obsidian';
import type { Child, Machine, StartOptions } from './core/machine';

/** The computer this runs on, or null on a phone or tablet, where no program can be started. */
export async function desktop(): Promise<Machine | null> {
	if (!Platform.isDesktop) {
		return null;
	}
	const { spawn } = await import('node:child_process');
	const { stat } = await import('node:fs/promises');
	const { homedir } = await import('node:os');
	const { env } = await import('node:process');
	return {
		os: Platform.isWin ? 'windows' : Platform.isMacOS ? 'mac' : 'linux',
		home: homedir(),
		env,
		isFile: async (path) => {
			try {
				return (await stat(path)).isFile();
			} catch {
				return false; // absent or out of reach: either way not a program to offer
			}
		},
		after: (milliseconds, action) => {
			const timer = window.setTimeout(action, milliseconds);
			return () => window.clearTimeout(timer);
		},
		start: (path, args, options) => start(spawn, path, args, options),
	};
}

function start(spawn: typeof import('node:child_process').spawn, path: string, args: readonly string[], { cwd, env }: StartOptions): Child {
	const child = spawn(path, [...args], { cwd, env, shell: false, windowsHide: true, stdio: ['pipe', 'pipe', 'ignore'] });
	return {
		send: (text) => {
			// A process that ends before it has read closes the pipe; its end tells more than that error.
			child.stdin.on('error', () => undefined);
			child.stdin.end(text);
		},
		onOutput: (listener) => void child.stdout.on('data', listener),
		onEnd: (listener) => void child.on('close', listener),
		onNoStart: (listener) => void child.on('error', (error: NodeJS.ErrnoException) => listener(error.code ?? error.message)),
		stop: (force) => void child.kill(force ? 'SIGKILL' : 'SIGTERM'),
	};
}
