import { CircleX } from 'lucide-react'
import { useEffect, useRef, type ReactElement } from 'react'

import { describeError, Problem, reportOf } from '~/lib/problem'
import { CopyButton } from '~/ui/CopyButton'
import { fieldId, focusField } from '~/ui/FieldFrame'
import { PagesAfter } from '~/ui/ProblemPanel'
import { Text } from '~/ui/Text'

import styles from './FormErrors.module.css'

interface FormErrorsProps {
  /** What the gateway answered; null: nothing to show. */
  error: unknown
  /** Label of each field, by its name in `errors[]`; a field of `values.a.b` is found as `values`. */
  fields: Readonly<Record<string, string>>
  /** Goes to a field that is no plain input, such as a line of an editor. Returns whether it knew the field. */
  onFocusField?: (field: string, line: number | undefined) => boolean
}

/** The summary above a form that was refused: each message with a link to its field. It takes the focus. */
export function FormErrors({ error, fields, onFocusField }: FormErrorsProps): ReactElement | null {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (error !== null && error !== undefined) box.current?.focus()
  }, [error])
  if (error === null || error === undefined) return null
  const { title, detail } = describeError(error)
  const errors = error instanceof Problem ? error.errors : []
  return (
    <div ref={box} className={styles.summary} role="alert" tabIndex={-1}>
      <CircleX size={20} aria-hidden className={styles.icon} />
      <div className={styles.body}>
        <strong>
          <Text>{title}</Text>
        </strong>
        {errors.length === 0 ? (
          <p>
            <Text multiline>{detail}</Text>
          </p>
        ) : (
          <ul className={styles.list}>
            {errors.map(({ field, message, line }, index) => {
              const name = knownField(field, fields)
              return (
                <li key={index}>
                  {name === undefined ? (
                    <Text>{field}</Text>
                  ) : (
                    <a
                      href={`#${fieldId(name)}`}
                      onClick={(event) => {
                        event.preventDefault()
                        if (onFocusField?.(field, line) !== true) focusField(name)
                      }}
                    >
                      {fields[name]}
                      {field !== name && (
                        <>
                          {', '}
                          <Text>{field.slice(name.length).replace(/^\./, '')}</Text>
                        </>
                      )}
                    </a>
                  )}
                  : <Text>{message}</Text>
                </li>
              )
            })}
          </ul>
        )}
      </div>
      <div className={styles.actions}>
        <PagesAfter error={error} />
        <CopyButton text={() => reportOf(error)} label="Copy report">
          Copy report
        </CopyButton>
      </div>
    </div>
  )
}

/** Returns the name of the field in the form: itself, or the first part of its path. */
export function knownField(field: string, fields: Readonly<Record<string, string>>): string | undefined {
  if (Object.hasOwn(fields, field)) return field
  const first = field.split(/[.[]/, 1)[0] ?? ''
  return Object.hasOwn(fields, first) ? first : undefined
}
