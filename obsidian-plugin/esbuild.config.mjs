import { build, context } from 'esbuild';

const production = process.argv[2] === 'production';

/** @type {import('esbuild').BuildOptions} */
const options = {
	absWorkingDir: import.meta.dirname,
	entryPoints: ['src/main.ts'],
	outfile: 'main.js',
	bundle: true,
	format: 'cjs',
	platform: 'browser',
	target: 'es2022',
	external: ['obsidian', 'electron', '@codemirror/*', '@lezer/*', 'node:*'],
	// The directory rebuilds a release and compares it byte by byte: nothing that depends on time, place or machine.
	// Obsidian's window has Node's `require`, but a native import() there cannot load a Node module.
	supported: { 'dynamic-import': false },
	charset: 'utf8',
	legalComments: 'inline',
	minify: production,
	sourcemap: production ? false : 'inline',
	treeShaking: true,
	logLevel: 'warning',
};

if (production) {
	await build(options);
} else {
	const watching = await context(options);
	await watching.watch();
}
