import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useQueryClient } from '@tanstack/react-query'
import { useMemo, type ReactElement } from 'react'

import { checkNewRepository, saveRepository, type NewRepository } from '~/api/queries/repositories'
import { usePermissionsToSend } from '~/api/usePermissions'
import { curlCommand, kubectlApply } from '~/lib/commands'
import {
  NO_REPOSITORY,
  repositoryManifest,
  repositorySettings,
  settingsToCopy,
  type RepositoryFields,
} from '~/lib/repositories/form'
import { toast } from '~/lib/toasts'
import { Link } from '~/ui/Link'
import { Page } from '~/ui/Page'
import { usePreference } from '~/ui/usePreference'

import { RepositoryFormView } from './RepositoryFormView'
import { useRepositoryForm } from './useRepositoryForm'

const route = getRouteApi('/repositories/new')
const NO_KUBECTL = 'The gateway creates the Secret of the credentials or certificates too: use curl.'

function bodyOf(fields: RepositoryFields): NewRepository {
  const settings = repositorySettings(fields, { isChange: false })
  return { name: fields.name.trim(), namespace: fields.namespace.trim(), ...settings }
}

/** Saves a chart repository. */
export function NewRepositoryPage(): ReactElement {
  const search = route.useSearch()
  const navigate = useNavigate()
  const client = useQueryClient()
  const [last] = usePreference('namespace')
  const namespace = search.namespace === '' ? last : search.namespace
  const form = useRepositoryForm({
    draftKey: 'repository',
    initial: useMemo(() => ({ ...NO_REPOSITORY, namespace }), [namespace]),
    check: (fields) => checkNewRepository(bodyOf(fields)),
    save: (fields) => saveRepository(bodyOf(fields)),
    onSaved: (record) => {
      toast(`Saved: ${record.name}`)
      void client.invalidateQueries({ queryKey: ['repositories'] })
      void navigate({
        to: '/repositories/$namespace/$name',
        params: { namespace: record.namespace, name: record.name },
        ignoreBlocker: true,
      })
    },
  })
  const { right } = usePermissionsToSend(form.fields.namespace.trim() || undefined)
  const body = { ...bodyOf(form.fields), ...settingsToCopy(repositorySettings(form.fields, { isChange: false })) }
  const manifest = repositoryManifest(form.fields)
  return (
    <Page title="Add a repository" breadcrumbs={<Link to="/repositories">Repositories</Link>}>
      <RepositoryFormView
        form={form}
        right={right('addRepository')}
        credentialsRight={right('storeCredentials')}
        copyAs={{
          curl: curlCommand({ method: 'POST', path: '/api/repositories', json: body }),
          kubectl: manifest === null ? { none: NO_KUBECTL } : kubectlApply(manifest),
        }}
      />
    </Page>
  )
}
