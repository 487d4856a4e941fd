import { useMutation, useQuery } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'

import { aboutQuery, signIn } from '~/api/queries/session'
import { Problem } from '~/lib/problem'
import { Button } from '~/ui/Button'
import { Notice } from '~/ui/Notice'
import { ProblemPanel } from '~/ui/ProblemPanel'
import { Text } from '~/ui/Text'
import { TextField } from '~/ui/TextField'
import { Waiting } from '~/ui/Waiting'

import styles from './SignInForm.module.css'

const STATUS_UNAUTHORIZED = 401
/** Comes along with a token that is copied from a header. */
const AUTHORIZATION_SCHEME = /^bearer\s+/i

/** The one field that takes a token. It is sent in one request, and kept nowhere. */
export function SignInForm({ onSignedIn }: { onSignedIn?: () => void }): ReactElement {
  const about = useQuery(aboutQuery)
  const [token, setToken] = useState('')
  const [isEmpty, setEmpty] = useState(false)
  const signing = useMutation({
    mutationFn: signIn,
    // The answer and the token are not kept with the state of the page.
    gcTime: 0,
    onSuccess: () => {
      setToken('')
      onSignedIn?.()
    },
  })
  const submit = (): void => {
    const given = token.trim().replace(AUTHORIZATION_SCHEME, '')
    setEmpty(given === '')
    if (given !== '') signing.mutate(given)
  }
  const isRefused = signing.error instanceof Problem && signing.error.status === STATUS_UNAUTHORIZED
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {typeof about.data?.insecure === 'string' && (
        <Notice tone="warn" title="Others can read along">
          <Text>{about.data.insecure}</Text>
        </Notice>
      )}
      <TextField
        label="Bearer token"
        name="token"
        type="password"
        autoComplete="off"
        isRequired
        autoFocus
        value={token}
        onChange={setToken}
        error={isEmpty ? 'Enter a token.' : isRefused ? 'The cluster does not accept this token.' : null}
        description="Your token for the Kubernetes API. It decides what you may see and do here."
      />
      {signing.error !== null && !isRefused && <ProblemPanel error={signing.error} />}
      <Button type="submit" variant="primary" isPending={signing.isPending}>
        Sign in
      </Button>
      <Waiting what="The cluster checks the token" isRunning={signing.isPending} />
      <details className={styles.help}>
        <summary>Where do I get a token?</summary>
        <p>
          Ask the administrator of the cluster. With kubectl, a token of a service account is made with{' '}
          <code>kubectl create token NAME -n NAMESPACE</code>.
        </p>
      </details>
    </form>
  )
}
