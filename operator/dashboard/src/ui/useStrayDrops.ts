import { useEffect } from 'react'

/**
 * While the component is shown, a file that is dropped beside the box for it does nothing: the browser would open it
 * in place of the page. Texts that can be edited take files themselves.
 */
export function useStrayDrops(): void {
  useEffect(() => {
    const refuse = (event: DragEvent): void => {
      const data = event.dataTransfer
      if (event.defaultPrevented || !data?.types.includes('Files')) return
      if (event.target instanceof Element && event.target.closest('[contenteditable="true"]') !== null) return
      event.preventDefault()
      data.dropEffect = 'none'
    }
    window.addEventListener('dragover', refuse)
    window.addEventListener('drop', refuse)
    return () => {
      window.removeEventListener('dragover', refuse)
      window.removeEventListener('drop', refuse)
    }
  }, [])
}
