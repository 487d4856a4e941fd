import { Check, Copy } from 'lucide-react'
import { useEffect, useState, type ReactElement } from 'react'
import { Button as AriaButton } from 'react-aria-components'

import { toast } from '~/lib/toasts'
import { classes } from '~/ui/classes'
import { copyText } from '~/ui/copyText'
import { Tooltip } from '~/ui/Tooltip'

import buttonStyles from './Button.module.css'
import styles from './CopyButton.module.css'

interface CopyButtonProps {
  text: string | (() => string)
  /** What is copied, for example "Copy the digest". */
  label: string
  /** Shown as text beside the icon. */
  children?: string
}

export function CopyButton({ text, label, children }: CopyButtonProps): ReactElement {
  const [copied, setCopied] = useState<boolean | null>(null)
  useEffect(() => {
    if (copied !== true) return
    const timer = setTimeout(() => setCopied(null), 2000)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = async (): Promise<void> => {
    const done = await copyText(typeof text === 'function' ? text() : text)
    setCopied(done)
    if (done) toast('Copied')
  }
  const Icon = copied === true ? Check : Copy
  const look = children === undefined ? styles.copy : classes(buttonStyles.button, buttonStyles.small)
  return (
    <>
      <Tooltip text={children === undefined ? label : null}>
        <AriaButton className={look} aria-label={label} onPress={() => void copy()}>
          <Icon size={14} aria-hidden />
          {children}
        </AriaButton>
      </Tooltip>
      {copied === false && <span role="alert">Not copied: select the text and copy it</span>}
    </>
  )
}
