import { Upload } from 'lucide-react'
import { useId, useState, type DragEvent, type ReactElement } from 'react'

import { classes } from '~/ui/classes'
import { errorText, fieldId, type FieldProps } from '~/ui/FieldFrame'
import { FileButton } from '~/ui/FileButton'
import { Text } from '~/ui/Text'

import fieldStyles from './fieldStyles.module.css'
import styles from './FileDrop.module.css'

interface FileDropProps extends Pick<FieldProps, 'label' | 'description' | 'error' | 'name'> {
  /** As of `<input accept>`, for example ".tgz". A dropped file may be of any type: the gateway checks it. */
  accept: string
  onFile: (file: File) => void
}

/** A place to drop one file on, with a button to choose it. */
export function FileDrop({ label, description, error, name, accept, onFile }: FileDropProps): ReactElement {
  const [isOver, setOver] = useState(false)
  const id = useId()
  const message = errorText(error)
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    setOver(false)
    const [file] = event.dataTransfer.files
    if (file !== undefined) onFile(file)
  }
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the button does the same
    <div
      className={classes(styles.drop, isOver && styles.over, message !== '' && styles.wrong)}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      id={name === undefined ? undefined : fieldId(name)}
      tabIndex={-1}
      role="group"
      aria-labelledby={id}
    >
      <Upload size={20} aria-hidden />
      <span id={id}>{label}</span>
      <FileButton accept={accept} onFile={onFile}>
        Choose a file
      </FileButton>
      {description !== undefined && <span className={fieldStyles.description}>{description}</span>}
      {message !== '' && (
        <span className={fieldStyles.error} role="alert">
          <Text>{message}</Text>
        </span>
      )}
    </div>
  )
}
