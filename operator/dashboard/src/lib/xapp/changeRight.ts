import { allOf, refused, type Action, type Right } from '~/lib/rights'

interface Changed {
  source: 'xapp' | 'labels'
  phase: string
}

/** Returns whether this can be done with an xApp as it is now. `right`: whether the caller may do it. */
export function changeRight({ source, phase }: Changed, right: Right, action: Action): Right {
  const isOwnApi = action.startsWith('proxy')
  return allOf(
    source === 'labels' && !isOwnApi && action !== 'adopt'
      ? refused('It is known by its labels only: adopt it, and then it can be changed here')
      : null,
    phase === 'Suspended' && action === 'rollback' ? refused('It is suspended: resume it first') : null,
    phase === 'Uninstalling' && action !== 'uninstall' ? refused('It is being uninstalled') : null,
    right,
  )
}
