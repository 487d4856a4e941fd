import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, type ReactElement } from 'react'

import { namespacesQuery } from '~/api/queries/namespaces'
import {
  isPlainHttp,
  PLAIN_HTTP_LABEL,
  REPOSITORY_LABELS,
  type RepositoryFields as Fields,
} from '~/lib/repositories/form'
import { Checkbox, RadioGroup } from '~/ui/Choices'
import { ComboBox } from '~/ui/ComboBox'
import { fieldId } from '~/ui/FieldFrame'
import { Card } from '~/ui/Panel'
import { Select } from '~/ui/Select'
import { TextArea, TextField } from '~/ui/TextField'

import styles from './repositories.module.css'

interface RepositoryFieldsProps {
  fields: Fields
  /** What is wrong with each field. */
  problems: ReadonlyMap<string, string>
  onChange: (part: Partial<Fields>) => void
  onBlur: (field: string) => void
  /** Of a saved repository: its name stays, and what it has of secrets can be kept. */
  saved?: { hasCredentials: boolean; hasCaBundle: boolean }
}

type TextName = 'name' | 'namespace' | 'url' | 'username' | 'password' | 'token' | 'caBundle' | 'interval'

/** The fields of a repository: address, credentials, certificates, signatures. */
export function RepositoryFields(props: RepositoryFieldsProps): ReactElement {
  const { fields, onChange, saved } = props
  return (
    <>
      <Card title="Address">
        <div className={styles.fields}>
          {saved === undefined && (
            <>
              <TextField
                {...textProps(props, 'name')}
                isRequired
                description="Deployments refer to it by this name (repoName)"
              />
              <NamespaceField {...props} />
            </>
          )}
          <TextField
            {...textProps(props, 'url')}
            isRequired
            description="https://, http:// or oci://, without credentials"
          />
          <TextField {...textProps(props, 'interval')} placeholder="5m" description="Such as 5m or 1h" />
        </div>
      </Card>
      <Credentials {...props} />
      <Certificates {...props} />
      <Card title="Signatures">
        <div className={styles.fields}>
          <Select
            label="Install only signed charts"
            name="verify"
            items={[
              { id: 'none', label: 'No', description: 'Signatures are not checked' },
              { id: 'provenance', label: 'Helm provenance (.prov)' },
              { id: 'cosign', label: 'cosign', description: 'Registries (oci://) only' },
            ]}
            value={fields.verify}
            onChange={(verify) => onChange({ verify: verify as Fields['verify'] })}
            error={fields.verify === 'none' ? props.problems.get('verify') : null}
          />
          {fields.verify !== 'none' && (
            <TextField
              label="Secret with the public keys"
              value={fields.verifySecret}
              onChange={(verifySecret) => onChange({ verifySecret })}
              onBlur={() => props.onBlur('verify')}
              isRequired
              error={props.problems.get('verify') ?? props.problems.get('verify.secretRef.name')}
            />
          )}
        </div>
      </Card>
    </>
  )
}

function textProps({ fields, problems, onChange, onBlur }: RepositoryFieldsProps, name: TextName) {
  return {
    label: REPOSITORY_LABELS[name] ?? name,
    name,
    value: fields[name],
    onChange: (value: string) => onChange({ [name]: value }),
    onBlur: () => onBlur(name),
    error: problems.get(name),
  }
}

function NamespaceField(props: RepositoryFieldsProps): ReactElement {
  const { namespace } = props.fields
  const choices = useQuery(namespacesQuery(useDeferredValue(namespace.trim()), 'addRepository'))
  const items = (choices.data?.content ?? [])
    .filter(({ exists }) => exists !== false)
    .map(({ name, allowed }) => ({ id: name, label: name, description: allowed ? '' : 'You may not add one here' }))
  return (
    <ComboBox
      {...textProps(props, 'namespace')}
      items={items}
      isFiltered
      read={{ what: 'namespaces', query: choices }}
      isRequired
      description="xApps of this namespace can use it with its credentials"
    />
  )
}

function Credentials(props: RepositoryFieldsProps): ReactElement {
  const { fields, onChange, saved, problems } = props
  const isHidden = fields.credentials === 'none' || fields.credentials === 'keep'
  const isPlain = isPlainHttp(fields.url)
  return (
    <Card title="Credentials">
      <div className={styles.stack}>
        <RadioGroup
          label="Credentials"
          hidesLabel
          {...(isHidden ? { name: 'username' } : {})}
          error={isHidden ? hiddenRefusals(problems) : null}
          orientation="horizontal"
          items={[
            ...(saved?.hasCredentials === true ? [{ id: 'keep', label: 'Keep the saved ones' }] : []),
            { id: 'none', label: 'None' },
            { id: 'basic', label: 'User and password' },
            { id: 'token', label: 'Token' },
          ]}
          value={fields.credentials}
          onChange={(kind) => onChange({ credentials: kind as Fields['credentials'] })}
        />
        {fields.credentials === 'basic' && (
          <div className={styles.fields}>
            <TextField {...textProps(props, 'username')} isRequired autoComplete="off" />
            <TextField {...textProps(props, 'password')} isRequired type="password" autoComplete="new-password" />
          </div>
        )}
        {fields.credentials === 'token' && (
          <div className={styles.fields}>
            <TextField {...textProps(props, 'token')} isRequired type="password" autoComplete="new-password" />
          </div>
        )}
        {(isPlain || fields.allowPlainHTTP) && fields.credentials !== 'none' && (
          <div id={fieldId('allowPlainHTTP')}>
            <Checkbox
              label={PLAIN_HTTP_LABEL}
              isSelected={fields.allowPlainHTTP}
              onChange={(allowPlainHTTP) => onChange({ allowPlainHTTP })}
            />
          </div>
        )}
      </div>
    </Card>
  )
}

/** Refusals of fields that are not shown: the repository wants credentials, and none are given. */
function hiddenRefusals(problems: ReadonlyMap<string, string>): string[] {
  return [...new Set(['username', 'password', 'token'].flatMap((name) => problems.get(name) ?? []))]
}

function Certificates(props: RepositoryFieldsProps): ReactElement {
  const { fields, onChange, saved, problems } = props
  return (
    <Card title="Certificates">
      <div className={styles.stack}>
        <RadioGroup
          label="Certificates to trust"
          hidesLabel
          name={fields.certificates === 'given' ? 'insecureSkipTLSVerify' : 'caBundle'}
          items={[
            ...(saved?.hasCaBundle === true ? [{ id: 'keep', label: 'Keep the saved ones' }] : []),
            { id: 'usual', label: 'Public certificate authorities' },
            {
              id: 'given',
              label: 'Also your own certificate authority',
              description: 'For a repository inside your network',
            },
            {
              id: 'any',
              label: 'Any certificate',
              description: 'Not safe: anybody in the network can pose as the repository',
            },
          ]}
          value={fields.certificates}
          onChange={(kind) => onChange({ certificates: kind as Fields['certificates'] })}
          error={
            problems.get('insecureSkipTLSVerify') ?? (fields.certificates === 'given' ? null : problems.get('caBundle'))
          }
        />
        {fields.certificates === 'given' && (
          <TextArea {...textProps(props, 'caBundle')} isRequired placeholder="-----BEGIN CERTIFICATE-----" />
        )}
      </div>
    </Card>
  )
}
