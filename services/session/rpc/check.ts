import type { HandlerContext } from '@connectrpc/connect'
import type { ModelRef as ModelRefMessage } from '#gen/portico/catalog/v1/catalog_pb.js'
import { callContextKey, principalOf } from '#shared/call-context.ts'
import { Rejection } from '#shared/rejection.ts'
import type { JsonObject, ModelRef } from '../domain/session.ts'
import type { PeerCall } from '../ports.ts'

const NAME_LIMIT = 256
const METADATA_LIMIT = 64 * 1024

/** Rejects with REQUEST_INVALID unless it holds. */
export function check(holds: boolean, field: string, problem: string): asserts holds {
  if (!holds) throw new Rejection('REQUEST_INVALID', { field, problem })
}

/** A name of 1 to 256 characters. */
export function checkName(name: string, field: string): void {
  check(name !== '' && name.length <= NAME_LIMIT, field, `must have 1 to ${NAME_LIMIT} characters`)
}

/** A model that a request names. */
export function checkModel(model: ModelRefMessage, field: string): ModelRef {
  const { providerId, modelId, variant } = model
  checkName(providerId, `${field}.provider_id`)
  checkName(modelId, `${field}.model_id`)
  check(variant.length <= NAME_LIMIT, `${field}.variant`, `must have at most ${NAME_LIMIT} characters`)
  return { providerId, modelId, variant }
}

/** Free-form data of a client. */
export function checkMetadata(metadata: JsonObject | undefined): JsonObject | undefined {
  if (metadata !== undefined) {
    const small = JSON.stringify(metadata).length <= METADATA_LIMIT
    check(small, 'metadata', `must be at most ${METADATA_LIMIT} characters as JSON`)
  }
  return metadata
}

/** The number of items on a page: none given means 50, and a larger one than allowed is taken as the largest. */
export function pageLimit(pageSize: number, largest: number): number {
  check(pageSize >= 0, 'page_size', 'must not be negative')
  return pageSize === 0 ? 50 : Math.min(pageSize, largest)
}

/** A session, or SESSION_NOT_FOUND where it is undefined. */
export function found<T>(value: T | undefined, sessionId: string): T {
  if (value === undefined) throw new Rejection('SESSION_NOT_FOUND', { session_id: sessionId })
  return value
}

/** A call to a peer as part of a call. */
export function peerCall(context: HandlerContext): PeerCall {
  const { requestId } = context.values.get(callContextKey)
  return { principal: principalOf(context), requestId, signal: context.signal }
}
