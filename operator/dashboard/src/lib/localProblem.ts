import { Problem } from '~/lib/problem'

const UNPROCESSABLE = 422

/** What the page itself found, in the shape of a refusal, so that both are shown the same way. */
export function localProblem(found: ReadonlyMap<string, string>): Problem {
  const errors = [...found].map(([field, message]) => ({ field, message }))
  return new Problem(
    {
      type: 'about:blank',
      title: 'Correct these fields',
      status: UNPROCESSABLE,
      detail: '',
      instance: location.pathname,
      errors,
      missing: [],
    },
    { method: 'check', retryAfter: null, at: new Date() },
  )
}
