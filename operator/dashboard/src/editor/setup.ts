/** What all texts of the pages share: looks, keys, special characters. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { yaml } from '@codemirror/lang-yaml'
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'

import { styleNonce } from './nonce'

export type Language = 'yaml' | 'json' | 'text'

const LANGUAGES: Record<Language, () => Extension> = { yaml, json, text: () => [] }

const HIGHLIGHT = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: 'var(--hold)' },
  { tag: [tags.comment, tags.meta], color: 'var(--muted)' },
  { tag: tags.invalid, color: 'var(--bad)' },
])

const THEME = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: 'var(--t13)', height: '100%' },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '2px' },
  '.cm-scroller': { fontFamily: 'ui-monospace, monospace', lineHeight: '1.25rem', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)', padding: 'var(--s2) 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--muted)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--accent) 8%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 28%, transparent)',
  },
  '.cm-selectionMatch, .cm-searchMatch': { backgroundColor: 'color-mix(in srgb, var(--warn) 25%, transparent)' },
  '.cm-searchMatch-selected': { backgroundColor: 'color-mix(in srgb, var(--warn) 50%, transparent)' },
  '.cm-matchingBracket': { outline: '1px solid var(--edge)', backgroundColor: 'transparent' },
  '.cm-specialChar': { color: 'var(--bad)' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)', borderColor: 'var(--line)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--edge)',
    borderRadius: 'var(--radius)',
    maxWidth: '80ch',
  },
  '.cm-textfield': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--edge)',
    fontSize: 'var(--t13)',
  },
  '.cm-button': {
    backgroundColor: 'var(--surface)',
    backgroundImage: 'none',
    color: 'var(--text)',
    border: '1px solid var(--edge)',
  },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--raised)', color: 'var(--muted)', border: '1px solid var(--line)' },
  // Shapes in the colours of the theme, in place of pictures with colours of their own.
  '.cm-lint-marker': { content: 'normal', width: '0.75rem', height: '0.75rem', forcedColorAdjust: 'none' },
  '.cm-lint-marker-error': { content: 'normal', backgroundColor: 'var(--bad)', clipPath: 'circle(45%)' },
  '.cm-lint-marker-warning': {
    content: 'normal',
    backgroundColor: 'var(--warn)',
    clipPath: 'polygon(50% 5%, 100% 95%, 0 95%)',
  },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
})

/** Marks of direction and other characters that change what a text looks like, beyond those that CodeMirror shows itself. */
const FURTHER_SPECIALS = /[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u2060]/g

const PHRASES = EditorState.phrases.of({ 'Control character': 'Control character' })

export interface TextOptions {
  label: string
  language: Language
  /** Ids of elements that describe the text, such as the list of its problems. */
  describedBy?: string | undefined
}

/** Looks, language and name of a text, of one that can be edited and of one that cannot. */
export function baseExtensions({ label, language, describedBy }: TextOptions): Extension[] {
  const attributes: Record<string, string> = {
    'aria-label': label,
    spellcheck: 'false',
    autocorrect: 'off',
    autocapitalize: 'off',
  }
  if (describedBy !== undefined) attributes['aria-describedby'] = describedBy
  return [
    EditorView.cspNonce.of(styleNonce()),
    THEME,
    syntaxHighlighting(HIGHLIGHT),
    highlightSpecialChars({ addSpecialChars: FURTHER_SPECIALS }),
    LANGUAGES[language](),
    drawSelection(),
    PHRASES,
    EditorView.contentAttributes.of(attributes),
  ]
}

/** A text to read: it can be selected, searched and copied, and takes the focus, so that the keyboard scrolls it. */
export function readOnlyExtensions(options: TextOptions): Extension[] {
  return [
    ...baseExtensions(options),
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({
      tabindex: '0',
      role: 'textbox',
      'aria-multiline': 'true',
      'aria-readonly': 'true',
    }),
    lineNumbers(),
    foldGutter(),
    highlightSelectionMatches(),
    keymap.of([...searchKeymap, ...foldKeymap, ...defaultKeymap]),
  ]
}

/**
 * Replaces a selection itself. The browser would keep the colours of the text that goes in a style attribute, which the
 * Content-Security-Policy refuses.
 */
const REPLACE_SELECTION = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== 'insertText' || event.data === null || view.state.selection.main.empty) return false
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true })
    return true
  },
})

/** A text to edit. Tab indents; Escape, then Tab leaves (CodeMirror does that itself). */
export function editingExtensions(options: TextOptions): Extension[] {
  return [
    ...baseExtensions(options),
    REPLACE_SELECTION,
    // A text that can be edited takes the focus anyway; checkers of accessibility want it written.
    EditorView.contentAttributes.of({ tabindex: '0' }),
    lineNumbers(),
    foldGutter(),
    history(),
    indentUnit.of('  '),
    EditorState.tabSize.of(2),
    bracketMatching(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    keymap.of([...searchKeymap, ...historyKeymap, ...foldKeymap, ...defaultKeymap, indentWithTab]),
  ]
}
