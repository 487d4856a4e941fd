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

const TAIL = 10
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
  if (text.length <= 2 * TAIL) return ['', text]
  if (isAscii(text)) return [text.slice(0, -TAIL), text.slice(-TAIL)]
  const characters = Array.from(SEGMENTER.segment(text), (part) => part.segment)
  if (characters.length <= 2 * TAIL) return ['', text]
  return [characters.slice(0, -TAIL).join(''), characters.slice(-TAIL).join('')]
}

function Parts({ text }: { text: string }): ReactElement {
  return <Text>{text}</Text>
}
