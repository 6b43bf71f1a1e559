import { hash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { DescField } from '@bufbuild/protobuf'
import { Rejection } from '#shared/rejection.ts'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'

const DEFAULT_SIZE = 50

/** A request for a page of a list. */
interface PageRequest {
  readonly field: { readonly pageSize: DescField }
}

/**
 * Returns a function that decides how many items a page has: 50 by default, and at most the limit of the request's
 * `page_size`.
 */
export function pageSizeParser({ field }: PageRequest): (pageSize: number | undefined) => number {
  const { most } = limitOf(field.pageSize)
  return (pageSize = DEFAULT_SIZE) => {
    check(pageSize >= 1, 'page_size', 'must be at least 1')
    return Math.min(pageSize, most)
  }
}

/** Returns a function that parses which part of a list is requested. */
export function sliceParser(request: PageRequest) {
  const parseSize = pageSizeParser(request)
  return ({ offset, pageSize }: { readonly offset: number; readonly pageSize?: number | undefined }) => {
    check(offset >= 0, 'offset', 'must not be negative')
    return { offset, limit: parseSize(pageSize) }
  }
}

const PLAIN = 1
const DEFLATED = 2
const DIGEST_BYTES = 9
/** A token must fit into a URL, which shares 16 KiB with all headers. */
const MAX_LENGTH = 12_288
/** Longer payloads are deflated: filters that came in a URL are up to three times as long in JSON and base64. */
const LONG = 600
const MAX_JSON_BYTES = 65_536

/**
 * Makes an opaque page token: base64url of the version, a digest of scope and payload, and the payload as JSON,
 * deflated if it is long. `scope` describes what the token is for (workspace, kind of list, order, filters); the token
 * contains only its digest.
 */
export function encodePageToken(scope: string, payload: unknown): string {
  const json = Buffer.from(JSON.stringify(payload))
  const [version, packed] = json.length <= LONG ? [PLAIN, json] : [DEFLATED, deflateRawSync(json)]
  return Buffer.concat([Buffer.of(version), digest(scope, packed), packed]).toString('base64url')
}

/**
 * Returns the payload of a page token. A token that is malformed, changed, made for another scope or refused by
 * `isValid` is rejected with INVALID_CURSOR. The digest has no key: since a token grants no rights, it may be forged,
 * so `isValid` must verify the payload's shape before it is used in a query.
 */
export function decodePageToken<T>(scope: string, token: string, isValid: (payload: unknown) => payload is T): T {
  const payload = open(scope, token)
  if (!isValid(payload)) throw new Rejection('INVALID_CURSOR')
  return payload
}

function open(scope: string, token: string): unknown {
  if (token.length > MAX_LENGTH || !/^[A-Za-z0-9_-]+$/.test(token)) return undefined
  const bytes = Buffer.from(token, 'base64url')
  const packed = bytes.subarray(1 + DIGEST_BYTES)
  const isKnown = bytes[0] === PLAIN || bytes[0] === DEFLATED
  const sealed = isKnown && digest(scope, packed).equals(bytes.subarray(1, 1 + DIGEST_BYTES))
  // A second spelling of the same bytes would be a second token for the same place.
  if (!sealed || bytes.toString('base64url') !== token) return undefined
  try {
    const json = bytes[0] === PLAIN ? packed : inflateRawSync(packed, { maxOutputLength: MAX_JSON_BYTES })
    return JSON.parse(json.toString())
  } catch {
    return undefined
  }
}

function digest(scope: string, packed: Buffer): Buffer {
  const scoped = Buffer.concat([Buffer.from(`${scope.length}:${scope}`), packed])
  return hash('sha256', scoped, 'buffer').subarray(0, DIGEST_BYTES)
}
