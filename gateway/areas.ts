import { lazyModule } from '#shared/lazy/lazy-module.ts'
import type { Family } from './family.ts'
import type { Operation } from './operation.ts'
import { OPERATIONS, PROBES } from './operations.ts'

/** A part of the public interface whose routes are created with the first request for it. */
export interface Area {
  /** The families that the paths of its operations belong to. */
  readonly families: readonly Family[]
  load(): Promise<readonly Operation[]>
}

const loadV1 = lazyModule(() => import('./v1-operations.ts'))

/** All areas. A process that only serves sessions never loads the dialects, which take a tenth of a start. */
export const AREAS: readonly Area[] = [
  { families: ['instance'], load: async () => [...OPERATIONS, ...PROBES] },
  { families: ['gateway', 'messages', 'oauth'], load: async () => (await loadV1()).V1_OPERATIONS },
]
