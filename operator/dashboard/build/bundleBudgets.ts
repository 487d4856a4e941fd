import { gzipSync } from 'node:zlib'

import type { Plugin, Rolldown } from 'vite'

/** Sizes in KB (1,000 bytes) after gzip that a build must not exceed. */
export const BUDGETS = { 'first load': 220, style: 16, editor: 185, form: 100 } as const

export type Budget = keyof typeof BUDGETS
export type Chunk = Pick<
  Rolldown.OutputChunk,
  'fileName' | 'code' | 'imports' | 'isEntry' | 'isDynamicEntry' | 'facadeModuleId' | 'moduleIds'
>

const FIRST_PAGE = '/src/features/xapps/XAppsPage.tsx'
const EDITOR = /\/src\/editor\/(?:setup|CompareView|LogView|TextEditor|TextView)\.tsx?$|node_modules[^/]*\/yaml\//
const FORM = /\/src\/editor\/form\//

/**
 * Returns the size of each part of the bundle in bytes after gzip.
 *
 * The first load is the entry and the list of xApps, with everything that they import statically. The editor and the
 * form are what a page loads later for the modules of src/editor that need CodeMirror, with the library for YAML, and for src/editor/form; the
 * form is not charged with what the editor loads.
 */
export function bundleSizes(chunks: readonly Chunk[], styles: readonly string[]): Record<Budget, number> {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  const reach = (roots: readonly Chunk[]): Set<Chunk> => {
    const found = new Set<Chunk>()
    const visit = (chunk: Chunk | undefined): void => {
      if (chunk === undefined || found.has(chunk)) return
      found.add(chunk)
      for (const name of chunk.imports) visit(byName.get(name))
    }
    roots.forEach(visit)
    return found
  }
  const containing = (path: RegExp): Chunk[] =>
    chunks.filter((chunk) => chunk.moduleIds.some((id) => path.test(id)) || path.test(chunk.facadeModuleId ?? ''))
  const first = reach(chunks.filter((chunk) => chunk.isEntry || chunk.facadeModuleId?.endsWith(FIRST_PAGE) === true))
  const editor = without(reach(containing(EDITOR)), first)
  const form = without(without(reach(containing(FORM)), first), editor)
  const total = (set: Iterable<Chunk>): number => [...set].reduce((sum, chunk) => sum + gzipSize(chunk.code), 0)
  return {
    'first load': total(first),
    style: styles.reduce((sum, style) => sum + gzipSize(style), 0),
    editor: total(editor),
    form: total(form),
  }
}

/** Fails the build when a part of the bundle exceeds its budget. */
export function bundleBudgets(): Plugin {
  return {
    name: 'bundle-budgets',
    apply: 'build',
    generateBundle: {
      // After the plugin that writes the style sheet.
      order: 'post',
      handler(_options, bundle) {
        const outputs = Object.values(bundle)
        const chunks = outputs.filter((output) => output.type === 'chunk')
        const styles = outputs.filter((output) => output.type === 'asset' && output.fileName.endsWith('.css'))
        const sizes = bundleSizes(
          chunks,
          styles.map((style) => String('source' in style ? style.source : '')),
        )
        const lines = budgetLines(sizes)
        if (process.env.XAPP_BUNDLE_SIZES !== undefined) console.log(lines.join('\n'))
        const over = lines.filter((line) => line.endsWith('too large'))
        if (over.length > 0) this.error(`the bundle exceeds its budget (gzip):\n${over.join('\n')}`)
      },
    },
  }
}

export function budgetLines(sizes: Record<Budget, number>): string[] {
  return (Object.keys(BUDGETS) as Budget[]).map((part) => {
    const size = sizes[part] / 1000
    return `${part}: ${size.toFixed(1)} of ${BUDGETS[part]} KB${size > BUDGETS[part] ? ', too large' : ''}`
  })
}

function without<T>(all: ReadonlySet<T>, excluded: ReadonlySet<T>): Set<T> {
  return new Set([...all].filter((each) => !excluded.has(each)))
}

function gzipSize(text: string): number {
  return gzipSync(text, { level: 9 }).length
}
