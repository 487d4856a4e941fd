const URL_FIRST = /^(?:https?|oci):\/\/\S+ (?:is )?/

/** Returns why a repository failed, without its address in front: a row has room for two lines only, and for the URL beside. */
export function rowMessage(message: string): string {
  const cause = message.replace(URL_FIRST, '')
  return cause.charAt(0).toUpperCase() + cause.slice(1)
}
