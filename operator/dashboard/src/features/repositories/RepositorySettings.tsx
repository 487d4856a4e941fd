import { useQueryClient } from '@tanstack/react-query'
import { useMemo, type ReactElement } from 'react'

import {
  changeRepository,
  checkRepositoryChange,
  repositoryPath,
  repositoryQuery,
  type EditedRepository,
  type Repository,
} from '~/api/queries/repositories'
import { usePermissions } from '~/api/usePermissions'
import { ConflictBar, conflictTitle, isConflictProblem, type ConflictTerms } from '~/editor/ConflictBar'
import { curlCommand, kubectlApply } from '~/lib/commands'
import { ifMatch, type ObjectVersion } from '~/lib/ifMatch'
import {
  comparedFields,
  fieldsOfRepository,
  repositoryManifest,
  repositorySettings,
  settingsToCopy,
} from '~/lib/repositories/form'
import { allOf, refused } from '~/lib/rights'
import { toast } from '~/lib/toasts'
import { Notice } from '~/ui/Notice'

import { RepositoryFormView } from './RepositoryFormView'
import { useRepositoryForm } from './useRepositoryForm'

const NO_KUBECTL = 'The gateway creates the Secret of the credentials or certificates too: use curl.'
const TERMS: ConflictTerms = {
  noun: 'repository',
  removed: 'removed',
  created: 'saved',
  button: 'Save',
  unseen: 'What they changed is not shown here, such as credentials. ',
}

interface RepositorySettingsProps {
  repository: Repository
  /** It was removed by somebody else. */
  isGone: boolean
  refetch: () => void
}

/** Changes the address, credentials, certificates and signatures of a saved repository. */
export function RepositorySettings({ repository, isGone, refetch }: RepositorySettingsProps): ReactElement {
  const { namespace, name, usedBy, uid, generation } = repository
  const client = useQueryClient()
  const { right } = usePermissions(namespace)
  const theirs = useMemo(() => fieldsOfRepository(repository), [repository])
  const edited = (version: ObjectVersion | null): EditedRepository => ({
    namespace,
    name,
    ...(version ?? { uid, generation }),
  })
  const form = useRepositoryForm({
    draftKey: `repository:${namespace}/${name}`,
    initial: theirs,
    version: useMemo(() => ({ uid, generation }), [uid, generation]),
    check: (fields, version) => checkRepositoryChange(edited(version), repositorySettings(fields, { isChange: true })),
    save: (fields, version) => changeRepository(edited(version), repositorySettings(fields, { isChange: true })),
    onRefused: (error) => {
      if (isConflictProblem(error)) refetch()
    },
    onSaved: (record) => {
      // What is typed next is typed on this.
      client.setQueryData(repositoryQuery(namespace, name).queryKey, record)
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
      {form.isConflict && (
        <ConflictBar
          base={comparedFields(form.base)}
          theirs={comparedFields(theirs)}
          mine={comparedFields(form.fields)}
          what={TERMS}
          isReplaced={form.isReplaced}
          at={repository.updatedAt}
          isRefused={isConflictProblem(form.error)}
          onTakeTheirs={form.discarding.discard}
          onKeepMine={form.keepMine}
        />
      )}
      <RepositoryFormView
        form={form}
        right={allOf(
          isGone ? refused('It was removed') : null,
          form.isConflict ? refused(`${conflictTitle(form.isReplaced, TERMS)}: decide first what to do`) : null,
          right('changeRepository'),
        )}
        credentialsRight={right('storeCredentials')}
        saved={repository}
        copyAs={{
          curl: curlCommand({
            method: 'PUT',
            path: repositoryPath(repository),
            headers: ifMatch(edited(form.version)),
            json,
          }),
          kubectl: manifest === null ? { none: NO_KUBECTL } : kubectlApply(manifest),
        }}
      />
    </>
  )
}
