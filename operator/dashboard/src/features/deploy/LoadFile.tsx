import { FileUp } from 'lucide-react'
import { useState } from 'react'

import { readTextFile } from '~/lib/readTextFile'
import { Button } from '~/ui/Button'
import { FileButton } from '~/ui/FileButton'
import { useKeptFocus } from '~/ui/useKeptFocus'

import styles from './deploy.module.css'

interface LoadedFile {
  /** Takes the values from a file; one that is refused changes nothing. */
  load: (file: File) => void
  loaded: { name: string; undo: () => void } | null
  refusal: string | null
}

interface Values {
  text: string
  onChange: (text: string) => void
  bytesMax: number
}

/** Values from a file that was chosen or dropped. */
export function useLoadedFile({ text, onChange, bytesMax }: Values): LoadedFile {
  const [loaded, setLoaded] = useState<{ name: string; before: string } | null>(null)
  const [refusal, setRefusal] = useState<string | null>(null)
  const read = async (file: File): Promise<void> => {
    const found = await readTextFile(file, { what: 'Values', bytesMax })
    setRefusal('refused' in found ? found.refused : null)
    if ('refused' in found) return
    setLoaded({ name: file.name, before: text })
    onChange(found.text)
  }
  return {
    load: (file) => void read(file),
    loaded: loaded && {
      name: loaded.name,
      undo: () => {
        onChange(loaded.before)
        setLoaded(null)
      },
    },
    refusal,
  }
}

/** Chooses a file with values, and says what became of it. */
export function LoadFile({ load, loaded, refusal }: LoadedFile) {
  const box = useKeptFocus<HTMLDivElement>()
  return (
    <div {...box} className={styles.row} role="group" aria-label="Values from a file">
      <FileButton
        accept=".yaml,.yml,.json"
        label="Values file"
        size="small"
        icon={<FileUp size={16} aria-hidden />}
        onFile={load}
      >
        Load file
      </FileButton>
      {loaded && (
        <>
          <span className={styles.muted}>{`Loaded ${loaded.name}.`}</span>
          <Button size="small" variant="quiet" onPress={loaded.undo}>
            Undo
          </Button>
        </>
      )}
      {refusal !== null && (
        <span className={styles.bad} role="alert">
          {refusal}
        </span>
      )}
    </div>
  )
}
