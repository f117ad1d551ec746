import { FileSystemAdapter, PluginSettingTab, Setting } from 'obsidian';
import type { App, Plugin, SettingDefinitionItem } from 'obsidian';
import { check, describe } from '../core/check';
import { usual } from '../core/locate';
import type { Machine } from '../core/machine';
import { DeviceSettings } from './device';

interface Row {
	readonly name: string;
	readonly desc: string;
	readonly render: (setting: Setting) => void;
}

/** Where vir_core is on this computer, and whether it answers. */
export class VirSettingTab extends PluginSettingTab {
	private readonly device: DeviceSettings;

	constructor(app: App, plugin: Plugin, private readonly machine: Machine | null) {
		super(app, plugin);
		this.device = new DeviceSettings(app);
	}

	override getSettingDefinitions(): SettingDefinitionItem[] {
		return [...this.rows()];
	}

	/** For versions of Obsidian before 1.13, which do not ask for definitions. */
	override display(): void {
		this.containerEl.empty();
		for (const { name, desc, render } of this.rows()) {
			render(new Setting(this.containerEl).setName(name).setDesc(desc));
		}
	}

	private rows(): readonly Row[] {
		const { machine } = this;
		if (machine === null) {
			return [{ name: 'Desktop only', desc: 'On this device your notes can be read; vir itself runs on a computer.', render: () => undefined }];
		}
		return [
			{
				name: 'Path to the command',
				desc: 'The full path of vir_core on this computer. Leave it empty to look in the usual places. It is not synced.',
				render: (setting) => this.pathRow(setting, machine),
			},
			{
				name: 'Connection',
				desc: 'Ask the command for its version and whether all is well.',
				render: (setting) => this.checkRow(setting, machine),
			},
		];
	}

	private pathRow(setting: Setting, machine: Machine): void {
		setting.addText((text) =>
			text
				.setPlaceholder(usual(machine))
				.setValue(this.device.corePath)
				.onChange((typed) => {
					this.device.corePath = typed;
				}),
		);
	}

	private checkRow(setting: Setting, machine: Machine): void {
		setting.addButton((button) =>
			button.setButtonText('Check').onClick(async () => {
				button.setDisabled(true);
				try {
					const checked = await check(machine, this.device.corePath, this.vaultPath());
					setting.descEl.empty();
					for (const line of describe(checked)) {
						setting.descEl.createDiv({ cls: checked.answer.ok ? 'vir-check-line' : 'vir-check-line vir-check-failed', text: line });
					}
				} finally {
					button.setDisabled(false);
				}
			}),
		);
	}

	private vaultPath(): string {
		const { adapter } = this.app.vault;
		return adapter instanceof FileSystemAdapter ? adapter.getBasePath() : '';
	}
}
