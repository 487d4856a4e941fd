import { X } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components'

import type { Right } from '~/lib/rights'
import { Button, IconButton } from '~/ui/Button'
import { classes } from '~/ui/classes'
import { ErrorText } from '~/ui/ProblemPanel'
import { Waiting } from '~/ui/Waiting'

import styles from './Dialog.module.css'

interface DialogProps {
  title: string
  isOpen: boolean
  onClose: () => void
  children: ReactNode
  footer?: ReactNode
  width?: 'small' | 'medium' | 'large'
  role?: 'dialog' | 'alertdialog'
  /** False: neither Escape nor a click beside it closes the dialog, and it has no button for that. */
  isDismissable?: boolean
}

export function Dialog({
  title,
  isOpen,
  onClose,
  children,
  footer,
  width = 'small',
  role = 'dialog',
  isDismissable = true,
}: DialogProps): ReactElement {
  return (
    <ModalOverlay
      isOpen={isOpen}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      isDismissable={isDismissable && role === 'dialog'}
      isKeyboardDismissDisabled={!isDismissable}
      className={styles.overlay}
    >
      <Modal className={classes(styles.modal, styles[width])}>
        <AriaDialog role={role} className={styles.dialog}>
          <div className={styles.head}>
            <Heading slot="title" level={2}>
              {title}
            </Heading>
            {isDismissable && (
              <IconButton label="Close" icon={<X size={18} aria-hidden />} onPress={onClose} size="small" />
            )}
          </div>
          <div className={styles.body}>{children}</div>
          {footer !== undefined && <div className={styles.footer}>{footer}</div>}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}

interface ConfirmDialogProps {
  title: string
  isOpen: boolean
  onClose: () => void
  children: ReactNode
  /** What happens, for example "Uninstall acme-ran-hello". */
  confirmLabel: string
  keepLabel?: string
  onConfirm: () => void
  isPending?: boolean
  isDanger?: boolean
  /** Without it the action can always be confirmed. */
  right?: Right | undefined
  error?: unknown
  width?: 'small' | 'medium' | 'large'
}

/** Asks before something that cannot be undone. The focus starts on the button that changes nothing. */
export function ConfirmDialog({
  children,
  confirmLabel,
  keepLabel = 'Keep',
  onConfirm,
  isPending = false,
  isDanger = false,
  right,
  error,
  ...rest
}: ConfirmDialogProps): ReactElement {
  return (
    <Dialog
      {...rest}
      role="alertdialog"
      footer={
        <>
          <Waiting what="Waiting for the gateway" isRunning={isPending} />
          <Button onPress={rest.onClose} autoFocus>
            {keepLabel}
          </Button>
          <Button variant={isDanger ? 'danger' : 'primary'} onPress={onConfirm} isPending={isPending} right={right}>
            {confirmLabel}
          </Button>
        </>
      }
    >
      {children}
      {error !== undefined && error !== null && <ErrorText error={error} />}
    </Dialog>
  )
}
