import type { ChangeSpec, Text } from '@codemirror/state'

/** Returns the text as a document of the editor has it: there, all lines end in LF. */
export function documentText(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n')
}

/** The smallest single change that makes the document into `wanted`, so that cursor, undo and scrolling stay; null if it is that text. */
export function changeTo(document: Text, wanted: string): ChangeSpec | null {
  const before = document.toString()
  const text = documentText(wanted)
  if (before === text) return null
  const shorter = Math.min(before.length, text.length)
  let start = 0
  while (start < shorter && before.charCodeAt(start) === text.charCodeAt(start)) start += 1
  let end = 0
  while (end < shorter - start && before.charCodeAt(before.length - 1 - end) === text.charCodeAt(text.length - 1 - end))
    end += 1
  return { from: start, to: before.length - end, insert: text.slice(start, text.length - end) }
}
