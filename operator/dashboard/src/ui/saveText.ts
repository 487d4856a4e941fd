/** Saves a text as a file of the reader. */
export function saveText(fileName: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  document.body.append(link)
  link.click()
  link.remove()
  // The browser reads it in a moment.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
