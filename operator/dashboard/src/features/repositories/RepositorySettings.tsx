import { useQueryClient } from '@tanstack/react-query'
import { useMemo, type ReactElement } from 'react'

import { changeRepository, checkRepositoryChange, repositoryPath, type Repository } from '~/api/queries/repositories'
import { usePermissions } from '~/api/usePermissions'
import { curlCommand, kubectlApply } from '~/lib/commands'
import { fieldsOfRepository, repositoryManifest, repositorySettings, settingsToCopy } from '~/lib/repositories/form'
import { toast } from '~/lib/toasts'
import { Notice } from '~/ui/Notice'

import { RepositoryFormView } from './RepositoryFormView'
import { useRepositoryForm } from './useRepositoryForm'

const NO_KUBECTL = 'The gateway creates the Secret of the credentials or certificates too: use curl.'

/** Changes the address, credentials, certificates and signatures of a saved repository. */
export function RepositorySettings({ repository }: { repository: Repository }): ReactElement {
  const { namespace, name, usedBy } = repository
  const client = useQueryClient()
  const { right } = usePermissions(namespace)
  const form = useRepositoryForm({
    draftKey: `repository:${namespace}/${name}`,
    initial: useMemo(() => fieldsOfRepository(repository), [repository]),
    check: (fields) => checkRepositoryChange(repository, repositorySettings(fields, { isChange: true })),
    save: (fields) => changeRepository(repository, repositorySettings(fields, { isChange: true })),
    onSaved: () => {
      toast(`Saved: ${name}`)
      void client.invalidateQueries({ queryKey: ['repositories'] })
    },
  })
  const manifest = repositoryManifest(form.fields)
  const json = settingsToCopy(repositorySettings(form.fields, { isChange: true }))
  const isMoved = form.fields.url.trim() !== repository.url
  return (
    <>
      {isMoved && (usedBy === null || usedBy.count > 0) && (
        <Notice tone="warn" title="xApps keep the old address">
          {usedBy === null ? 'xApps' : usedBy.count === 1 ? '1 xApp' : `${usedBy.count} xApps`} that use this repository
          stall until they are upgraded with the new address. Their releases keep running.
        </Notice>
      )}
      <RepositoryFormView
        form={form}
        right={right('changeRepository')}
        credentialsRight={right('storeCredentials')}
        saved={repository}
        copyAs={{
          curl: curlCommand({ method: 'PUT', path: repositoryPath(repository), json }),
          kubectl: manifest === null ? { none: NO_KUBECTL } : kubectlApply(manifest),
        }}
      />
    </>
  )
}
