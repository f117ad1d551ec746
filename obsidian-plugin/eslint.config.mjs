import { defineConfig, globalIgnores } from 'eslint/config';
import obsidianmd from 'eslint-plugin-obsidianmd';

export default defineConfig([
	globalIgnores(['main.js', 'node_modules/', 'package-lock.json']),
	...obsidianmd.configs.recommended,
	{
		languageOptions: {
			parserOptions: {
				projectService: { allowDefaultProject: ['eslint.config.mjs', 'esbuild.config.mjs'] },
				tsconfigRootDir: import.meta.dirname,
			},
		},
	},
	{
		files: ['src/core/**/*.ts'],
		rules: {
			'no-restricted-imports': [
				'error',
				{ patterns: [{ group: ['obsidian', 'electron', '@codemirror/*', '../*', 'node:*'], message: 'src/core stands alone; what it needs is handed to it.' }] },
			],
			'no-restricted-globals': ['error', 'process', 'Buffer', 'require', 'window', 'document', 'app'],
		},
	},
	{
		// These run under Node, outside Obsidian.
		files: ['tests/**/*.ts', 'vitest.config.ts', '*.mjs'],
		rules: {
			'obsidianmd/no-nodejs-modules': 'off',
			'import/no-nodejs-modules': 'off',
		},
	},
]);
