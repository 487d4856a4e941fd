import type { ReactNode } from 'react'

/** Stands for that of markdown-to-jsx, which @rjsf/core has for descriptions of schemas: they are texts of others. */
export function Markdown({ children }: { children?: ReactNode }): ReactNode {
  return children
}
