import { Rejection } from '#shared/rejection.ts'
import { drainSignalOf, principalOf } from '#shared/rpc/call-context.ts'
import type { CatalogDependencies, Handlers } from './dependencies.ts'

/** Maximum number of characters for all failures together, since an error travels in headers. */
const MAX_PROBLEMS = 4_000

export function locationHandlers({ locations, opened }: CatalogDependencies) {
  return {
    async resolveLocation({ directory, baseDirectory }, context) {
      return { location: await locations.resolve(principalOf(context), directory, baseDirectory) }
    },

    async reloadLocations(_, context) {
      const principal = principalOf(context)
      const failures = await opened.reload(
        (directory) => locations.allow(principal, directory),
        (directory) => locations.look(directory),
      )
      if (failures.length === 0) return {}
      const problems = failures.map(({ directory, problem }) => `${directory}: ${problem}`).join('; ')
      throw new Rejection('LOCATION_RELOAD_FAILED', { problems: problems.slice(0, MAX_PROBLEMS) })
    },

    async *streamEvents({ directory: only }, context) {
      const principal = principalOf(context)
      const draining = drainSignalOf(context)
      const signal = AbortSignal.any([context.signal, draining])
      const wanted = (directory: string): boolean =>
        (only === undefined || only === directory) && locations.allow(principal, directory)
      for await (const message of opened.events.subscribe(wanted, signal)) yield { message }
      draining.throwIfAborted()
    },
  } satisfies Handlers
}
