import { createHash } from 'node:crypto'
import { Rejection } from '#shared/rejection.ts'

const VERSION = 1
const DIGEST_BYTES = 9
const MAX_LENGTH = 2_048

/**
 * Makes an opaque page token: base64url of version, digest of scope and payload, payload as JSON. `scope` names what
 * the token was made for (workspace, kind of list, order, filters); it is not in the token, only in the digest.
 */
export function encodePageToken(scope: string, payload: unknown): string {
  const json = Buffer.from(JSON.stringify(payload))
  return Buffer.concat([Buffer.of(VERSION), digest(scope, json), json]).toString('base64url')
}

/**
 * The payload of a page token. One that is malformed, changed, made for another scope or refused by `check` is rejected
 * with INVALID_CURSOR. The digest has no key: a token gives no rights and can be forged, therefore `check` must prove
 * the payload's shape before it goes near a query.
 */
export function decodePageToken<T>(scope: string, token: string, check: (payload: unknown) => payload is T): T {
  const payload = open(scope, token)
  if (!check(payload)) throw new Rejection('INVALID_CURSOR')
  return payload
}

function open(scope: string, token: string): unknown {
  if (token.length > MAX_LENGTH || !/^[A-Za-z0-9_-]+$/.test(token)) return undefined
  const bytes = Buffer.from(token, 'base64url')
  const json = bytes.subarray(1 + DIGEST_BYTES)
  const sealed = bytes[0] === VERSION && digest(scope, json).equals(bytes.subarray(1, 1 + DIGEST_BYTES))
  // A second spelling of the same bytes would be a second token for the same place.
  if (!sealed || bytes.toString('base64url') !== token) return undefined
  try {
    return JSON.parse(json.toString())
  } catch {
    return undefined
  }
}

function digest(scope: string, json: Buffer): Buffer {
  return createHash('sha256').update(`${scope.length}:${scope}`).update(json).digest().subarray(0, DIGEST_BYTES)
}
