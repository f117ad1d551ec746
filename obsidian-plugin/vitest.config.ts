import { defineConfig } from 'vitest/config';

export default defineConfig({
	resolve: {
		// The npm package holds types only; Obsidian itself hands out the module at run time.
		alias: { obsidian: `${import.meta.dirname}/tests/__mocks__/obsidian.ts` },
	},
	test: { include: ['tests/**/*.test.ts'], environment: 'node', setupFiles: ['tests/setup.ts'], maxWorkers: 2 },
});
