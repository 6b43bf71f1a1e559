import type { Operation } from './operation.ts'
import { OPERATIONS, PROBES } from './operations.ts'
import { V1_OPERATIONS } from './v1-operations.ts'

/** Every operation that is served: the OpenAPI document, and what the tests walk. */
export const ALL_OPERATIONS: readonly Operation[] = [...OPERATIONS, ...V1_OPERATIONS, ...PROBES]
