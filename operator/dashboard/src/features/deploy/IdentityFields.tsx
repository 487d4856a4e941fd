import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useEffect, useState } from 'react'

import { nameTakenQuery } from '~/api/queries/deployments'
import { namespacesQuery, type NamespaceChoice } from '~/api/queries/namespaces'
import { usePermissions } from '~/api/usePermissions'
import { apiField, LABELS, type DeployFields, type FieldName, type FieldProblems } from '~/lib/deploy/form'
import { composedName } from '~/lib/names'
import { ComboBox } from '~/ui/ComboBox'
import { CopyButton } from '~/ui/CopyButton'
import { Link } from '~/ui/Link'
import { TextField } from '~/ui/TextField'

import styles from './deploy.module.css'

export interface FieldsProps {
  fields: DeployFields
  problems: FieldProblems
  onChange: (name: FieldName, value: string | boolean) => void
  onBlur: (name: FieldName) => void
}

const PLACEHOLDERS: Partial<Record<FieldName, string>> = { version: '0.2.1' }

/** One text field of the form. */
export function FormField({
  name,
  isRequired = false,
  description,
  ...props
}: FieldsProps & { name: FieldName; isRequired?: boolean; description?: string | undefined }) {
  const { fields, problems, onChange, onBlur } = props
  const placeholder = PLACEHOLDERS[name]
  return (
    <TextField
      label={LABELS[name]}
      name={apiField(name)}
      value={String(fields[name])}
      isRequired={isRequired}
      error={problems.get(apiField(name))}
      autoComplete="off"
      onChange={(value) => onChange(name, value)}
      onBlur={() => onBlur(name)}
      {...(placeholder === undefined ? {} : { placeholder })}
      {...(description === undefined ? {} : { description })}
    />
  )
}

/** Who the xApp is and where it goes. `versionNote`: where its version comes from, unless that is plain. */
export function IdentityFields({ versionNote, ...props }: FieldsProps & { versionNote: string | undefined }) {
  return (
    <div className={styles.stack}>
      <div className={styles.fields}>
        <FormField {...props} name="xAppName" isRequired />
        <FormField {...props} name="version" isRequired description={versionNote} />
        <FormField {...props} name="organization" isRequired />
        <FormField {...props} name="team" isRequired />
        <FormField {...props} name="owner" isRequired description="Person or group that answers for this xApp" />
        <NamespaceField {...props} />
      </div>
      <ComposedName fields={props.fields} />
    </div>
  )
}

/** For those who may not list namespaces: they are offered only those with xApps. */
const NOT_LISTED = 'If yours is not in the list, type its whole name'

function NamespaceField({ fields, problems, onChange, onBlur }: FieldsProps) {
  const search = useDeferredValue(fields.namespace.trim())
  const query = useQuery(namespacesQuery(search, 'deploy'))
  const choices = query.data?.content ?? []
  const { right } = usePermissions()
  const chosen = choices.find(({ name }) => name === fields.namespace.trim())
  return (
    <ComboBox
      label={LABELS.namespace}
      name={apiField('namespace')}
      items={choices.map((choice) => ({ id: choice.name, label: choice.name, description: noteOf(choice) }))}
      value={fields.namespace}
      onChange={(value) => onChange('namespace', value)}
      onBlur={() => onBlur('namespace')}
      isFiltered
      read={{ what: 'namespaces', query }}
      isRequired
      description={chosen ? noteOf(chosen) : right('listNamespaces').allowed ? undefined : NOT_LISTED}
      error={problems.get(apiField('namespace'))}
    />
  )
}

function noteOf({ exists, allowed, xapps }: NamespaceChoice): string {
  if (!allowed) return exists === false ? 'New. Needs: create namespaces' : 'Needs: create xapps'
  if (exists === false) return 'New: it is created with the xApp'
  if (xapps === null) return ''
  return xapps === 1 ? '1 xApp' : `${xapps} xApps`
}

/** The name that the xApp gets, and whether it is free. */
export function useComposedName({ organization, team, xAppName }: DeployFields): string | null {
  const [name, setName] = useState<string | null>(null)
  useEffect(() => {
    let current = true
    void composedName({ organization, team, xAppName }).then((composed) => {
      if (current) setName(composed)
    })
    return () => {
      current = false
    }
  }, [organization, team, xAppName])
  return name
}

function ComposedName({ fields }: { fields: DeployFields }) {
  const name = useDeferredValue(useComposedName(fields))
  const namespace = useDeferredValue(fields.namespace.trim())
  const isKnown = name !== null && namespace !== ''
  const taken = useQuery({ ...nameTakenQuery(namespace, name ?? ''), enabled: isKnown, retry: false })
  if (name === null) return null
  return (
    <p className={styles.row} aria-live="polite">
      <span className={styles.muted}>Name:</span>
      <code className={styles.name}>{name}</code>
      <CopyButton text={name} label="Copy the name" />
      {isKnown && taken.data === false && <span className={styles.ok}>free</span>}
      {isKnown && taken.data === true && (
        <span className={styles.bad}>
          {'taken: '}
          <Link to="/xapps/$namespace/$name" params={{ namespace, name }}>
            open it
          </Link>
          {' or '}
          <Link to="/xapps/$namespace/$name/upgrade" params={{ namespace, name }}>
            upgrade it
          </Link>
        </span>
      )}
    </p>
  )
}
