/** What the core of the plugin needs from the computer it runs on; only a desktop has one. */
export interface Machine {
	readonly os: 'windows' | 'mac' | 'linux';
	/** The person's home folder, absolute. */
	readonly home: string;
	readonly env: Readonly<Record<string, string | undefined>>;
	/** Whether `path` is a file, links followed; false when it cannot be looked at. */
	isFile(path: string): Promise<boolean>;
	/** Does `action` once after `milliseconds`, unless the function it returns was called before. */
	after(milliseconds: number, action: () => void): () => void;
	/** Starts a program without a shell; may throw when the system refuses the path or an argument as such. */
	start(path: string, args: readonly string[], options: StartOptions): Child;
}

export interface StartOptions {
	readonly cwd: string;
	readonly env: Readonly<Record<string, string | undefined>>;
}

/** A running process whose standard error is discarded. */
export interface Child {
	/** Writes all of `text` to standard input and closes it. A process that does not read is no error. */
	send(text: string): void;
	onOutput(listener: (chunk: Uint8Array) => void): void;
	/** Called once, after the process has ended and its output was read to the end. `code` is null after a signal. */
	onEnd(listener: (code: number | null) => void): void;
	/** Called instead of `onEnd` when the process could not be started; `code` is the system's, such as `ENOENT`. */
	onNoStart(listener: (code: string) => void): void;
	/** Asks the process to end; with `force`, ends it. */
	stop(force: boolean): void;
}
