import { getLocation } from './location/operations.ts'
import type { Operation } from './operation.ts'
import { createResponse } from './responses/operations.ts'
import { getInfo, getLiveness, getReadiness } from './server/operations.ts'

/** Every operation that is served: the route table, the OpenAPI document, and what the tests walk. */
export const OPERATIONS: readonly Operation[] = [getLocation, createResponse, getInfo, getLiveness, getReadiness]
