import { fileURLToPath } from 'node:url'

import optimizeLocales from '@react-aria/optimize-locales-plugin'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

import { bundleBudgets } from './build/bundleBudgets.ts'
import { compressedFiles } from './build/compressedFiles.ts'

const gateway = process.env.XAPP_GATEWAY ?? 'http://127.0.0.1:31315'

export default defineConfig({
  resolve: {
    alias: {
      '~': fileURLToPath(new URL('./src', import.meta.url)),
      // @rjsf/core names it, but our form brings its own validator: this one makes code from strings.
      '@rjsf/validator-ajv8': fileURLToPath(new URL('./build/noValidator.ts', import.meta.url)),
      // Texts of charts are shown as texts, never as Markdown.
      'markdown-to-jsx/react': fileURLToPath(new URL('./build/noMarkdown.tsx', import.meta.url)),
    },
  },
  plugins: [
    react(),
    { ...optimizeLocales.vite({ locales: ['en-US'] }), enforce: 'pre' },
    bundleBudgets(),
    compressedFiles(),
  ],
  build: {
    target: 'es2023',
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // All of it is in the first load: together it compresses better than in many chunks.
            { name: 'react', test: /node_modules[^/]*\/(?:react|react-dom|scheduler|@tanstack\/[^/]+)\// },
            // What the list needs of ours is in the first load too, with all that it imports.
            {
              name: 'list',
              test: /src\/ui\/(?:DataTable|Pagination|FilterSheet|SearchField|StatusBadge|CopyAs)\.tsx$/,
            },
            // In a chunk of its own, which the editor and the form share.
            { name: 'yaml', test: /node_modules[^/]*\/yaml\// },
          ],
        },
      },
    },
    outDir: '../xapp_operator/gateway/static',
    emptyOutDir: true,
    // The Content-Security-Policy allows files of our own origin: nothing inline, and no code beyond what is used.
    assetsInlineLimit: 0,
    // One small file: a page never waits for its looks, nor fails for want of them.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The texts that the licenses of the bundled packages ask for.
    license: { fileName: 'assets/licenses.txt' },
  },
  worker: { format: 'es' },
  server: {
    host: '127.0.0.1',
    port: 5173,
    // The gateway refuses a request whose Origin is not its Host: the proxy keeps the Host.
    proxy: Object.fromEntries(
      ['/api', '/healthz', '/readyz'].map((path) => [path, { target: gateway, changeOrigin: false }]),
    ),
  },
  test: {
    // Ends tests that hang. A machine that is busy with other things makes none fail.
    testTimeout: 60_000,
    // Tests of components have a document; a `.test.ts` that needs one begins with `// @vitest-environment jsdom`.
    projects: [
      {
        extends: true,
        test: { name: 'plain', environment: 'node', include: ['src/**/*.test.ts', 'build/**/*.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'components',
          environment: 'jsdom',
          // So that the alias above applies inside of it.
          server: { deps: { inline: ['@rjsf/core'] } },
          setupFiles: ['./build/testSetup.ts'],
          include: ['src/**/*.test.tsx'],
        },
      },
    ],
  },
})
