import { useEffect, useState, type ReactElement, type ReactNode, type RefObject } from 'react'
import { Focusable, Tooltip as AriaTooltip, TooltipTrigger } from 'react-aria-components'

import styles from './Tooltip.module.css'

interface TooltipProps {
  /** What to say; with null there is no tooltip. */
  text: ReactNode
  /** A React Aria component (button, link), which opens the tooltip on hover and focus. */
  children: ReactElement
  /** The element that opens it: while it has the focus of the keyboard, scrolling does not close the tooltip for good. */
  trigger?: RefObject<HTMLElement | null>
  /** Where it opens if there is room; above without it. */
  placement?: 'bottom' | undefined
}

export function Tooltip({ text, children, trigger, placement }: TooltipProps): ReactElement {
  const [isOpen, setOpen] = useState(false)
  // The trigger stays without a text too: else the child would be made anew, and lose the focus, when a text comes.
  const isEmpty = text === null || text === undefined || text === ''
  useEffect(() => {
    if (!isOpen || trigger === undefined) return undefined
    const openAgain = (): void => {
      if (trigger.current?.matches(':focus-visible')) setOpen(true)
    }
    // React Aria closes a tooltip when the page scrolls, as it does when a focused element comes into view.
    const onScroll = ({ target }: Event): void => {
      if (target instanceof Node && target.contains(trigger.current)) {
        window.addEventListener('scrollend', openAgain, { capture: true, once: true })
      }
    }
    window.addEventListener('scroll', onScroll, true)
    return () => window.removeEventListener('scroll', onScroll, true)
  }, [isOpen, trigger])
  return (
    <TooltipTrigger
      delay={400}
      closeDelay={100}
      isDisabled={isEmpty}
      isOpen={isOpen && !isEmpty}
      onOpenChange={setOpen}
    >
      {children}
      <AriaTooltip className={styles.tooltip} offset={6} {...(placement && { placement })}>
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
