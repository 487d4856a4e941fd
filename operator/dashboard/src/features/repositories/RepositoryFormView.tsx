import type { ReactElement } from 'react'

import { REPOSITORY_LABELS } from '~/lib/repositories/form'
import { allOf, refused, type Right } from '~/lib/rights'
import { Button } from '~/ui/Button'
import { CopyAs, type CopyAsProps } from '~/ui/CopyAs'
import { DiscardButton, UndoDiscard } from '~/ui/DiscardButton'
import { fieldId } from '~/ui/FieldFrame'
import { FormErrors } from '~/ui/FormErrors'
import { LeaveGuard } from '~/ui/LeaveGuard'
import { Notice } from '~/ui/Notice'
import { Text } from '~/ui/Text'
import { Waiting } from '~/ui/Waiting'
import { useElapsed } from '~/ui/useElapsed'
import { useKeyBindings } from '~/ui/useKeyBindings'

import { RepositoryFields } from './RepositoryFields'
import styles from './repositories.module.css'
import type { RepositoryForm } from './useRepositoryForm'

const TEST_SECONDS = 15
const BUSY = refused('The last request is still on its way')

/** A refused choice is a group: the focus goes to its chosen item. Other fields take the focus themselves. */
function focusChoice(field: string): boolean {
  const hidden = ['username', 'password', 'token'].includes(field) && document.getElementById(fieldId(field)) === null
  const group = document.getElementById(fieldId(hidden ? 'username' : field))
  const item = group?.querySelector<HTMLElement>('input:checked, input')
  item?.focus()
  return item !== null && item !== undefined
}

interface RepositoryFormViewProps {
  form: RepositoryForm
  right: Right
  /** Storing credentials takes a right of its own. */
  credentialsRight: Right
  copyAs: Pick<CopyAsProps, 'curl' | 'kubectl'>
  saved?: { hasCredentials: boolean; hasCaBundle: boolean }
}

/** The form of a repository with [Test] and [Save]. */
export function RepositoryFormView(props: RepositoryFormViewProps): ReactElement {
  const { form, saved } = props
  const { fields } = form
  const hasSecrets = ['basic', 'token'].includes(fields.credentials) || fields.certificates === 'given'
  const right = allOf(props.right, hasSecrets ? props.credentialsRight : null)
  const elapsed = useElapsed(form.isTesting)
  const save = (): void => {
    if (right.allowed && !form.isSaving && !form.isTesting) form.runSave()
  }
  useKeyBindings([{ keys: 'Ctrl+Enter', inFields: true, run: save }])
  return (
    <form
      className={styles.stack}
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <LeaveGuard when={form.isUnsent} />
      <FormErrors error={form.error} fields={REPOSITORY_LABELS} onFocusField={focusChoice} />
      <RepositoryFields
        fields={fields}
        problems={form.problems}
        onChange={form.change}
        onBlur={form.blur}
        {...(saved === undefined ? {} : { saved })}
      />
      <div aria-live="polite">
        {form.isTesting && (
          <Notice>{`The gateway asks the repository: ${elapsed} s of at most ${TEST_SECONDS} s.`}</Notice>
        )}
        {form.answer !== undefined && (
          <Notice tone="ok" title="The test succeeded">
            <Text>{form.answer.message}</Text>
            {form.answer.warnings.map((warning, index) => (
              <p key={index}>
                <Text multiline>{warning}</Text>
              </p>
            ))}
          </Notice>
        )}
      </div>
      <div className={styles.bar}>
        <CopyAs {...props.copyAs} />
        <DiscardButton
          isChanged={form.isDirty}
          isBusy={form.isTesting || form.isSaving}
          onDiscard={form.discarding.discard}
        >
          Discard
        </DiscardButton>
        <Button right={allOf(form.isSaving ? BUSY : null, right)} isPending={form.isTesting} onPress={form.runTest}>
          Test
        </Button>
        <Button
          type="submit"
          variant="primary"
          right={allOf(form.isTesting ? BUSY : null, right)}
          isPending={form.isSaving}
        >
          Save
        </Button>
        <UndoDiscard undo={form.discarding.undo} />
        <Waiting what="The gateway saves the repository" isRunning={form.isSaving} />
      </div>
    </form>
  )
}
