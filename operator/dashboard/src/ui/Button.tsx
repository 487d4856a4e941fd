import { LoaderCircle } from 'lucide-react'
import { useRef, useState, type ReactElement, type ReactNode } from 'react'
import { Button as AriaButton, Dialog, Popover, type PressEvent } from 'react-aria-components'

import type { Right } from '~/lib/rights'
import { classes } from '~/ui/classes'
import { CopyButton } from '~/ui/CopyButton'
import { Tooltip } from '~/ui/Tooltip'

import styles from './Button.module.css'

export interface ButtonProps {
  children?: ReactNode
  variant?: 'default' | 'primary' | 'danger' | 'quiet'
  size?: 'normal' | 'small'
  icon?: ReactNode
  /** Without it the button is never off: a button that is off says why, and keeps the focus. */
  right?: Right | undefined
  /** The action is on its way: a second press does nothing. */
  isPending?: boolean
  onPress?: ((event: PressEvent) => void) | undefined
  type?: 'button' | 'submit'
  /** Name for screen readers, if the children are no text. */
  label?: string
  tooltip?: string
  /** Below, where what it is about stands above the button. */
  tooltipPlacement?: 'bottom'
  autoFocus?: boolean
  form?: string
  'aria-expanded'?: boolean
  'aria-controls'?: string
  'aria-pressed'?: boolean
  /** The id in `lib/pageMenus.ts` of the menu that it opens. */
  'data-menu'?: string
  className?: string | undefined
}

/** A button. If `right` refuses, it stays focusable, shows the reason on hover and focus, and offers it for copying. */
export function Button({
  children,
  variant = 'default',
  size = 'normal',
  icon,
  right,
  isPending = false,
  onPress,
  type = 'button',
  label,
  tooltip,
  tooltipPlacement,
  className,
  ...rest
}: ButtonProps): ReactElement {
  const reason = right?.allowed === false ? (right.reason ?? 'Not possible now') : null
  const button = useRef<HTMLButtonElement>(null)
  const [showsReason, setShowsReason] = useState(false)
  const isOff = reason !== null || isPending
  const press = isPending ? undefined : reason === null ? onPress : () => setShowsReason(true)
  return (
    <>
      <Tooltip text={reason ?? tooltip} trigger={button} placement={tooltipPlacement}>
        <AriaButton
          ref={button}
          {...rest}
          // Screen readers say why it is off, whether the tooltip is open or not.
          // eslint-disable-next-line jsx-a11y/role-supports-aria-props -- new in ARIA 1.3, for every role
          render={(props) => <button {...props} aria-description={reason ?? undefined} />}
          type={isOff ? 'button' : type}
          className={classes(
            styles.button,
            styles[variant],
            styles[size],
            children === undefined && styles.icon,
            className,
          )}
          aria-label={label}
          aria-disabled={isOff ? true : undefined}
          data-busy={isPending || undefined}
          data-reason={reason ?? undefined}
          onPress={press}
        >
          {isPending ? <LoaderCircle className={styles.spinner} aria-label="In progress" size={16} /> : icon}
          {children}
        </AriaButton>
      </Tooltip>
      {reason !== null && (
        <Popover triggerRef={button} isOpen={showsReason} onOpenChange={setShowsReason} className={styles.reason}>
          <Dialog aria-label="Why this is not possible" className={styles.reasonBody}>
            <span>{reason}</span>
            <CopyButton text={reason} label="Copy the reason" />
          </Dialog>
        </Popover>
      )}
    </>
  )
}

export interface IconButtonProps extends Omit<ButtonProps, 'children' | 'label' | 'icon'> {
  label: string
  icon: ReactNode
}

/** A button that shows an icon only; its name is a tooltip. */
export function IconButton({ label, variant = 'quiet', ...rest }: IconButtonProps): ReactElement {
  return <Button {...rest} variant={variant} label={label} tooltip={rest.tooltip ?? label} />
}
