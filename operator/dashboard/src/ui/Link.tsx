import { createLink } from '@tanstack/react-router'
import { ExternalLink as ExternalIcon } from 'lucide-react'
import type { AnchorHTMLAttributes, ReactElement, ReactNode, Ref } from 'react'

import { classes } from '~/ui/classes'
import { Text } from '~/ui/Text'

import buttonStyles from './Button.module.css'
import styles from './Link.module.css'

interface AnchorProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  ref?: Ref<HTMLAnchorElement>
}

function PlainAnchor({ className, children, ...rest }: AnchorProps): ReactElement {
  return (
    <a {...rest} className={classes(styles.link, className)}>
      {children}
    </a>
  )
}

interface ButtonAnchorProps extends AnchorProps {
  variant?: 'default' | 'primary' | 'quiet'
  size?: 'normal' | 'small'
  icon?: ReactNode
}

function ButtonAnchor({
  variant = 'default',
  size = 'normal',
  icon,
  className,
  children,
  ...rest
}: ButtonAnchorProps): ReactElement {
  return (
    <a
      {...rest}
      data-action
      className={classes(buttonStyles.button, buttonStyles[variant], buttonStyles[size], className)}
    >
      {icon}
      {children}
    </a>
  )
}

/** A link to a page of ours; `to`, `params` and `search` are checked against the routes. */
export const Link = createLink(PlainAnchor)

/** The same, looking like a button. */
export const ButtonLink = createLink(ButtonAnchor)

/** Returns the URL if it may be a link: http and https only. */
export function safeHref(url: string): string | null {
  try {
    const { protocol } = new URL(url)
    return protocol === 'http:' || protocol === 'https:' ? url : null
  } catch {
    return null
  }
}

/** A link to an address of an xApp. Anything but http and https is shown as text. */
export function ExternalLink({ href, children }: { href: string; children?: ReactNode }): ReactElement {
  const safe = safeHref(href)
  if (safe === null) return <Text>{href}</Text>
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer" className={styles.external}>
      {children ?? <Text>{href}</Text>}
      <ExternalIcon size={14} aria-label="opens in a new tab" />
    </a>
  )
}
