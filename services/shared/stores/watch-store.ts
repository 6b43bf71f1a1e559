import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'
import { diskProblem } from '#shared/stores/disk-problem.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import { StoreWatch } from '#shared/stores/store-watch.ts'

/** Watches a service's store: MongoDB if a connection is given, otherwise this machine's disk. */
export function watchStore(
  store: { probe(): Promise<void> },
  options: {
    readonly name: string
    readonly mongo?: Mongo | undefined
    readonly clock: Clock
    readonly logger: Logger
  },
): StoreWatch {
  const { mongo, ...rest } = options
  const problemOf = mongo?.problemOf ?? diskProblem
  return new StoreWatch({ ...rest, probe: () => store.probe(), problemOf, limitMs: mongo?.limitMs })
}
