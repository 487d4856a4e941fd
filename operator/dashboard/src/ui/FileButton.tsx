import { useRef, type ReactElement, type ReactNode } from 'react'

import { Button } from '~/ui/Button'

interface FileButtonProps {
  children: ReactNode
  /** As of `<input accept>`, for example ".tgz". */
  accept: string
  /** What the field behind the button is called. */
  label?: string
  icon?: ReactElement
  size?: 'small'
  onFile: (file: File) => void
}

/** A button that lets somebody choose one file. */
export function FileButton({ children, accept, label, icon, size, onFile }: FileButtonProps): ReactElement {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        accept={accept}
        hidden
        aria-label={label}
        onChange={(event) => {
          const file = event.target.files?.[0]
          // The same file can be chosen again, for example after it was changed.
          event.target.value = ''
          if (file !== undefined) onFile(file)
        }}
      />
      <Button size={size} icon={icon} onPress={() => input.current?.click()}>
        {children}
      </Button>
    </>
  )
}
