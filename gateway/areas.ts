import { lazyModule } from '#shared/lazy/lazy-module.ts'
import type { Family } from './family.ts'
import type { Operation } from './operation.ts'
import { OPERATIONS, PROBES } from './operations.ts'

/** A part of the public interface, whose routes are made with the first request for it. */
export interface Area {
  /** To which of them the path of each of its operations belongs. */
  readonly families: readonly Family[]
  load(): Promise<readonly Operation[]>
}

const loadV1 = lazyModule(() => import('./v1-operations.ts'))

/** All that is served. A start that is used for sessions alone does without the dialects, which are a tenth of it. */
export const AREAS: readonly Area[] = [
  { families: ['instance'], load: async () => [...OPERATIONS, ...PROBES] },
  { families: ['gateway', 'messages', 'oauth'], load: async () => (await loadV1()).V1_OPERATIONS },
]
