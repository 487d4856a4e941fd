/**
 * Returns the text of the values as the gateway takes it. It refuses a text that says nothing, which may be a file that
 * could not be read: an empty text and one of comments only get `{}`, and keep their comments.
 */
export function statedText(text: string): string {
  if (text.trim() === '') return '{}'
  const isComments = text.split('\n').every((line) => /^(?:#|$)/.test(line.trim()))
  return isComments ? `${text.trimEnd()}\n{}\n` : text
}
