/** Parts of pages whose code is loaded when they are first shown. Unlike `React.lazy`, a failed load can be repeated. */
import { useEffect, useState, type ComponentType, type ReactElement, type ReactNode } from 'react'

import { addPreload } from '~/lib/preloads'
import { NotLoaded } from '~/lib/problem'
import { createStore } from '~/lib/store'
import { useStore } from '~/lib/useStore'
import { Dialog } from '~/ui/Dialog'
import { LoadAgain } from '~/ui/LoadAgain'
import { ProblemPanel } from '~/ui/ProblemPanel'
import { useDelayed } from '~/ui/useDelayed'
import { Waiting } from '~/ui/Waiting'

import styles from './lazyPart.module.css'

/** A page that waits for a dialog this long says so in a dialog. */
const DIALOG_DELAY_MILLISECONDS = 1000

interface LoadState {
  Loaded: ComponentType<object> | null
  isLoading: boolean
  error: NotLoaded | null
  failures: number
}

interface LazyOptions {
  /** Stands in place of the part while it is loaded. */
  placeholder?: ReactNode
  /** Large parts are not loaded ahead. */
  isLarge?: boolean
}

/** Returns a hook for the part and how far it is loaded. `what` names it, for example "the editor". */
function createPart(what: string, load: () => Promise<unknown>, isLarge = false) {
  const state = createStore<LoadState>({ Loaded: null, error: null, isLoading: false, failures: 0 })
  const start = async (): Promise<void> => {
    const { Loaded, isLoading } = state.get()
    if (Loaded !== null || isLoading) return
    state.set((old) => ({ ...old, isLoading: true }))
    try {
      const loaded = (await load()) as ComponentType<object>
      state.set((old) => ({ ...old, Loaded: loaded, error: null, isLoading: false }))
    } catch (cause) {
      const error = new NotLoaded(what, { cause })
      state.set((old) => ({ ...old, error, isLoading: false, failures: old.failures + 1 }))
    }
  }
  // One that failed is loaded as soon as the gateway is back.
  addPreload(async () => {
    if (isLarge && state.get().error === null) return
    await start()
    const { error } = state.get()
    if (error !== null) throw error
  })
  const useLoaded = (): LoadState & { retry: () => void } => {
    const { Loaded, isLoading, error, failures } = useStore(state)
    // Failures before the part was shown, such as in the background, are not told.
    const [before] = useState(() => state.get().failures)
    useEffect(() => void start(), [])
    const retry = (): void => void start()
    return { Loaded, isLoading, error: failures > before ? error : null, failures: failures - before, retry }
  }
  return useLoaded
}

/**
 * Returns a part of a page that is loaded when it is first shown.
 *
 * If its file does not come, an error with Retry stands in its place, and the rest of the page goes on.
 */
export function lazyPart<Props extends object>(
  what: string,
  load: () => Promise<(props: Props) => ReactNode>,
  { placeholder, isLarge }: LazyOptions = {},
): (props: Props) => ReactElement {
  const useLoaded = createPart(what, load, isLarge)
  return function Part(props) {
    const { Loaded, ...rest } = useLoaded()
    if (Loaded !== null) return <Loaded {...props} />
    return <NotThereYet what={what} {...rest} placeholder={placeholder} />
  }
}

/** The same for a dialog: until it is loaded, another dialog with this title says so, and can be closed. */
export function lazyDialog<Props extends { onClose: () => void }>(
  title: string,
  load: () => Promise<(props: Props) => ReactNode>,
): (props: Props) => ReactElement {
  const what = 'this dialog'
  const useLoaded = createPart(what, load)
  return function DialogPart(props) {
    const { Loaded, ...rest } = useLoaded()
    const isLate = useDelayed(Loaded === null, DIALOG_DELAY_MILLISECONDS)
    if (Loaded !== null) return <Loaded {...props} />
    return (
      <Dialog title={title} isOpen={isLate || rest.error !== null} onClose={props.onClose}>
        <NotThereYet what={what} {...rest} />
      </Dialog>
    )
  }
}

interface NotThereYetProps extends Omit<LoadState, 'Loaded'>, Pick<LazyOptions, 'placeholder'> {
  what: string
  retry: () => void
}

function NotThereYet({ what, error, isLoading, failures, placeholder, retry }: NotThereYetProps): ReactElement {
  if (error !== null)
    return (
      <div className={styles.failed}>
        <ProblemPanel error={error} onRetry={retry} isRetrying={isLoading} />
        {failures > 1 && <LoadAgain />}
      </div>
    )
  return (
    <>
      <Waiting what={`The gateway sends ${what}`} isRunning={isLoading} />
      {placeholder}
    </>
  )
}
