import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'
import { diskProblem } from '#shared/disk-problem.ts'
import type { Mongo } from '#shared/mongo.ts'
import { StoreWatch } from '#shared/store-watch.ts'

/** Watches a service's store: in MongoDB where a connection is given, else on this machine's disk. */
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
