import type { ReactElement, ReactNode } from 'react'
import { Focusable, Tooltip as AriaTooltip, TooltipTrigger } from 'react-aria-components'

import styles from './Tooltip.module.css'

interface TooltipProps {
  /** What to say; with null there is no tooltip. */
  text: ReactNode
  /** A React Aria component (button, link), which opens the tooltip on hover and focus. */
  children: ReactElement
}

export function Tooltip({ text, children }: TooltipProps): ReactElement {
  // The trigger stays without a text too: else the child would be made anew, and lose the focus, when a text comes.
  const isEmpty = text === null || text === undefined || text === ''
  return (
    <TooltipTrigger delay={400} closeDelay={100} isDisabled={isEmpty}>
      {children}
      <AriaTooltip className={styles.tooltip} offset={6}>
        {text}
      </AriaTooltip>
    </TooltipTrigger>
  )
}

/** A tooltip on a plain element; with `tabIndex` the keyboard reaches it too. */
export function TooltipOn({ text, children }: { text: ReactNode; children: ReactElement }): ReactElement {
  return (
    <Tooltip text={text}>
      <Focusable>{children as ReactElement<never, string>}</Focusable>
    </Tooltip>
  )
}
