import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import type { Plugin } from 'vite'

const COMPRESSIBLE = /\.(js|css|svg|json|txt)$/

/** Writes a `.gz` beside each asset that is worth it: the gateway sends these files as they are. */
export function compressedFiles(): Plugin {
  return {
    name: 'compressed-files',
    apply: 'build',
    async writeBundle({ dir }) {
      const folder = join(dir ?? '.', 'assets')
      const names = (await readdir(folder)).filter((name) => COMPRESSIBLE.test(name))
      for (const name of names) {
        const content = await readFile(join(folder, name))
        const packed = gzipSync(content, { level: 9 })
        if (packed.length < content.length) await writeFile(join(folder, `${name}.gz`), packed)
      }
    },
  }
}
