/** As much of Obsidian as the plugin touches, without a screen: elements are trees of texts and classes. */

export const Platform = {
	isDesktop: true,
	isMacOS: process.platform === 'darwin',
	isWin: process.platform === 'win32',
};

export class Element {
	readonly children: Element[] = [];
	constructor(
		readonly cls = '',
		readonly text = '',
	) {}
	empty(): void {
		this.children.length = 0;
	}
	createDiv({ cls, text }: { cls: string; text: string }): Element {
		const child = new Element(cls, text);
		this.children.push(child);
		return child;
	}
}

export class TextComponent {
	placeholder = '';
	value = '';
	private changed: (value: string) => void = () => undefined;
	setPlaceholder(text: string): this {
		this.placeholder = text;
		return this;
	}
	setValue(value: string): this {
		this.value = value;
		return this;
	}
	onChange(changed: (value: string) => void): this {
		this.changed = changed;
		return this;
	}
	type(value: string): void {
		this.value = value;
		this.changed(value);
	}
}

export class ButtonComponent {
	label = '';
	disabled = false;
	private clicked: () => unknown = () => undefined;
	setButtonText(label: string): this {
		this.label = label;
		return this;
	}
	setDisabled(disabled: boolean): this {
		this.disabled = disabled;
		return this;
	}
	onClick(clicked: () => unknown): this {
		this.clicked = clicked;
		return this;
	}
	async click(): Promise<void> {
		await this.clicked();
	}
}

export class Setting {
	static made: Setting[] = [];
	readonly descEl = new Element();
	readonly texts: TextComponent[] = [];
	readonly buttons: ButtonComponent[] = [];
	name = '';
	desc = '';
	constructor(readonly containerEl: Element) {
		Setting.made.push(this);
	}
	setName(name: string): this {
		this.name = name;
		return this;
	}
	setDesc(desc: string): this {
		this.desc = desc;
		return this;
	}
	addText(build: (text: TextComponent) => unknown): this {
		const text = new TextComponent();
		this.texts.push(text);
		build(text);
		return this;
	}
	addButton(build: (button: ButtonComponent) => unknown): this {
		const button = new ButtonComponent();
		this.buttons.push(button);
		build(button);
		return this;
	}
}

export class PluginSettingTab {
	readonly containerEl = new Element();
	constructor(
		readonly app: App,
		readonly plugin: Plugin,
	) {}
}

export class FileSystemAdapter {
	constructor(private readonly base: string) {}
	getBasePath(): string {
		return this.base;
	}
}

export class App {
	readonly stored = new Map<string, unknown>();
	readonly vault: { adapter: FileSystemAdapter };
	constructor(base: string) {
		this.vault = { adapter: new FileSystemAdapter(base) };
	}
	loadLocalStorage(key: string): unknown {
		return this.stored.get(key) ?? null;
	}
	saveLocalStorage(key: string, data: unknown): void {
		if (data === null) {
			this.stored.delete(key);
		} else {
			this.stored.set(key, data);
		}
	}
}

export class Plugin {
	readonly tabs: PluginSettingTab[] = [];
	constructor(
		readonly app: App,
		readonly manifest: unknown,
	) {}
	addSettingTab(tab: PluginSettingTab): void {
		this.tabs.push(tab);
	}
}
