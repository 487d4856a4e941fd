import { memo, type ReactElement } from 'react'

import { isAscii, visibleParts, visibleText } from '~/lib/visibleText'
import { classes } from '~/ui/classes'

import styles from './Text.module.css'

interface TextProps {
  /** A text from outside: of a chart, a pod, an xApp, the API. */
  children: string
  /** Cuts the text after so many lines; the whole text is its tooltip. */
  lines?: 1 | 2
  multiline?: boolean
  className?: string | undefined
}

/** Shows a text from outside as text: isolated from its surroundings, with control and bidi characters made visible. */
export const Text = memo(function Text({ children, lines, multiline = false, className }: TextProps): ReactElement {
  const look = classes(
    lines === 1 && styles.oneLine,
    lines === 2 && styles.twoLines,
    multiline && styles.multiline,
    className,
  )
  return (
    <bdi className={look} title={lines === undefined ? undefined : visibleText(children)}>
      {visibleParts(children, { multiline }).map((part, index) =>
        part.hidden === undefined ? (
          part.text
        ) : (
          <span key={index} className={styles.hidden} title={part.hidden}>
            {part.text}
          </span>
        ),
      )}
    </bdi>
  )
})

/** How much of a name stays at its end: of a long one, and of a short one at least. */
const [TAIL, TAIL_MIN] = [10, 4]
/** Splits into what a reader calls characters, so that none is cut into halves. */
const SEGMENTER = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Shows a name in one line, cut in the middle where there is no room, whole in its tooltip and when copied. */
export function MiddleText({ children, className }: { children: string; className?: string }): ReactElement {
  const [head, tail] = splitTail(children)
  if (head === '') {
    return (
      <bdi className={classes(styles.whole, className)} title={children}>
        <Parts text={tail} />
      </bdi>
    )
  }
  return (
    <bdi className={classes(styles.middle, className)} title={children}>
      {/* The whole name is in one box: between two, browsers put a space into what is read out and copied. */}
      <span className={styles.head}>
        <Parts text={head} />
        <span className={styles.unseen}>
          <Parts text={tail} />
        </span>
      </span>
      <bdi className={styles.tail} aria-hidden data-text={visibleText(tail)} />
    </bdi>
  )
}

/** Returns what may be cut and what stays; the first is empty for a short text. */
function splitTail(text: string): [string, string] {
  if (text.length <= 2 * TAIL_MIN) return ['', text]
  const characters = isAscii(text) ? text : Array.from(SEGMENTER.segment(text), (part) => part.segment)
  const { length } = characters
  if (length <= 2 * TAIL_MIN) return ['', text]
  const tail = length > 2 * TAIL ? TAIL : Math.max(TAIL_MIN, Math.ceil(length / 3))
  return [joined(characters.slice(0, -tail)), joined(characters.slice(-tail))]
}

function joined(characters: string | string[]): string {
  return typeof characters === 'string' ? characters : characters.join('')
}

function Parts({ text }: { text: string }): ReactElement {
  return <Text>{text}</Text>
}
