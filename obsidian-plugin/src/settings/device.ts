import type { App } from 'obsidian';

const CORE_PATH = 'vir-core-path';

/**
 * What is true of this computer only. It stands in local storage and not in data.json, which travels with the vault: a
 * path from another computer would be wrong here, and a program must never start because a synced file names it.
 */
export class DeviceSettings {
	constructor(private readonly app: App) {}

	/** The path of vir_core as the person typed it; empty when it is to be looked for. */
	get corePath(): string {
		const stored: unknown = this.app.loadLocalStorage(CORE_PATH);
		return typeof stored === 'string' ? stored : '';
	}

	set corePath(typed: string) {
		this.app.saveLocalStorage(CORE_PATH, typed.trim() === '' ? null : typed.trim());
	}
}
