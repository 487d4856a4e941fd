import { useState } from 'react'
import { flushSync } from 'react-dom'

import { apiField, LABELS, type DeployFields } from '~/lib/deploy/form'
import { Checkbox } from '~/ui/Choices'
import { focusField } from '~/ui/FieldFrame'
import { FileDrop } from '~/ui/FileDrop'
import { Select } from '~/ui/Select'

import styles from './deploy.module.css'
import { FormField, type FieldsProps } from './IdentityFields'

interface MoreOptionsProps extends FieldsProps {
  /** A release name is for a new xApp only. */
  isNew: boolean
  provenance: File | null
  /** Null: there is no chart file to which a provenance file could belong. */
  onProvenance: ((file: File) => void) | null
}

const DEFAULT = { id: 'default', label: 'Default' }

/** What few deployments need. */
export function MoreOptions({ isNew, provenance, onProvenance, ...props }: MoreOptionsProps) {
  const { fields, problems, onChange } = props
  const [isOpen, setOpen] = useState(false)
  const mustShow =
    fields.adopt || fields.suspend || fields.releaseName !== '' || [...problems.keys()].some((field) => MORE.has(field))
  // Once open, it stays open until a person closes it: a field that is emptied does not vanish under the cursor.
  const [mustHaveShown, setMustHaveShown] = useState(false)
  if (mustShow !== mustHaveShown) {
    setMustHaveShown(mustShow)
    if (mustShow) setOpen(true)
  }
  return (
    <details className={styles.more} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>More options</summary>
      <div className={styles.stack}>
        <div className={styles.fields}>
          <FormField
            {...props}
            name="timeout"
            description="For one step, and for becoming healthy after it; default 5m"
          />
          <Select
            label={LABELS.onFailure}
            name={apiField('onFailure')}
            items={[DEFAULT, { id: 'rollback', label: 'Roll back' }, { id: 'none', label: 'Leave it as it is' }]}
            value={fields.onFailure === '' ? 'default' : fields.onFailure}
            onChange={(id) => onChange('onFailure', id === 'default' ? '' : id)}
            error={problems.get(apiField('onFailure'))}
          />
          <Select
            label={LABELS.deletionPolicy}
            name={apiField('deletionPolicy')}
            items={[
              DEFAULT,
              { id: 'Uninstall', label: 'Remove the Helm release' },
              { id: 'Orphan', label: 'Keep the release running (Orphan)' },
            ]}
            value={fields.deletionPolicy === '' ? 'default' : fields.deletionPolicy}
            onChange={(id) => onChange('deletionPolicy', id === 'default' ? '' : id)}
            error={problems.get(apiField('deletionPolicy'))}
          />
          <FormField
            {...props}
            name="serviceAccountName"
            description="Helm acts as this account; default: the account that your administrator set"
          />
          {isNew && (
            <FormField
              {...props}
              name="releaseName"
              description="Name of the Helm release; default: the name of the xApp"
            />
          )}
        </div>
        <Checkbox
          label="Adopt a release of that name that is there already, and objects of the chart that are"
          name={apiField('adopt')}
          isSelected={fields.adopt}
          onChange={(value) => onChange('adopt', value)}
        />
        <Checkbox
          name={apiField('suspend')}
          label="Suspend: write the xApp, but do not install it yet"
          isSelected={fields.suspend}
          onChange={(value) => onChange('suspend', value)}
        />
        {onProvenance !== null && (
          <FileDrop
            label={provenance === null ? 'Provenance file (.prov) of the chart' : provenance.name}
            name="provenance"
            accept=".prov"
            onFile={onProvenance}
            error={problems.get('provenance')}
          />
        )}
      </div>
    </details>
  )
}

/** Returns what turns "Adopt" on and moves the focus there; undefined if it is on. */
export function adoptInForm({ adopt }: DeployFields, change: FieldsProps['onChange']): (() => void) | undefined {
  if (adopt) return undefined
  return () => {
    // The options open with it: only then can it have the focus.
    flushSync(() => change('adopt', true))
    focusField(apiField('adopt'))
  }
}

const MORE = new Set([
  ...(['timeout', 'onFailure', 'deletionPolicy', 'serviceAccountName', 'releaseName', 'adopt', 'suspend'] as const).map(
    apiField,
  ),
  'provenance',
])
