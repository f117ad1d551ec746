import { Plugin } from 'obsidian';
import { desktop } from './desktop';
import { VirSettingTab } from './settings/tab';

export default class VirPlugin extends Plugin {
	override async onload(): Promise<void> {
		this.addSettingTab(new VirSettingTab(this.app, this, await desktop()));
	}
}
