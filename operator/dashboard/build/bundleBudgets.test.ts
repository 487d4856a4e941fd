import { describe, expect, it } from 'vitest'

import { budgetLines, bundleSizes, type Chunk } from './bundleBudgets.ts'

function chunk(fileName: string, modules: string[], rest: Partial<Chunk> = {}): Chunk {
  return {
    fileName,
    code: modules.join('\n').repeat(100),
    imports: [],
    isEntry: false,
    isDynamicEntry: false,
    facadeModuleId: null,
    moduleIds: modules,
    ...rest,
  }
}

describe('bundleSizes', () => {
  const shared = chunk('shared.js', ['/src/ui/Button.tsx'])
  const entry = chunk('index.js', ['/src/main.tsx'], { isEntry: true, imports: ['shared.js'] })
  const text = chunk('text.js', ['/src/editor/TextEditor.tsx'], { imports: ['shared.js', 'codemirror.js'] })
  const codemirror = chunk('codemirror.js', ['/node_modules/@codemirror/view/index.js'])
  const form = chunk('form.js', ['/src/editor/form/Form.tsx'], { imports: ['codemirror.js'] })
  const page = chunk('page.js', ['/src/features/xapp/LogsPage.tsx'])

  it('counts what the entry imports as the first load, and nothing twice', () => {
    const all = bundleSizes([shared, entry, text, codemirror, form, page], [])
    const alone = bundleSizes([shared, entry], [])
    expect(alone.editor).toBe(0)
    expect(alone['first load']).toBeGreaterThan(0)
    expect(all['first load']).toBe(alone['first load'])
    expect(all.editor).toBe(bundleSizes([text, codemirror], []).editor)
    expect(all.form).toBe(bundleSizes([form], []).form)
  })

  it('counts the editor as the first load when the entry imports it', () => {
    const eager = { ...entry, imports: ['shared.js', 'text.js'] }
    const sizes = bundleSizes([shared, eager, text, codemirror], [])
    expect(sizes.editor).toBe(0)
    expect(sizes['first load']).toBeGreaterThan(bundleSizes([shared, entry], [])['first load'])
  })
})

describe('budgetLines', () => {
  it('names the part that is too large', () => {
    expect(budgetLines({ 'first load': 220_001, style: 16_000, editor: 1, form: 1 })).toEqual([
      'first load: 220.0 of 220 KB, too large',
      'style: 16.0 of 16 KB',
      'editor: 0.0 of 185 KB',
      'form: 0.0 of 100 KB',
    ])
  })
})
