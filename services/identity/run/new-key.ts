import { hash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { type ApiKey, ApiKeySchema, type Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { randomId, randomText } from '#shared/ids.ts'
import { KEY_KINDS, NO_TERMS, prefixOf } from '../domain/api-key.ts'
import type { By } from '../domain/audit.ts'

/** An enabled key with this secret, to be written. Without terms it has no limits. */
export function newKey(
  secret: string,
  { terms = NO_TERMS, ...rest }: Pick<ApiKey, 'workspaceId' | 'kind' | 'name' | 'expireTime' | 'terms'>,
  by: By,
): ApiKey {
  const identity = {
    keyId: randomId('key'),
    hash: hashOf(secret),
    prefix: prefixOf(secret),
    creatorKeyId: by.actorKeyId,
  }
  return create(ApiKeySchema, { ...rest, ...identity, terms, createTime: by.time, updateTime: by.time })
}

/** Generates a secret: the prefix of its kind, and 40 random letters and digits (about 238 bits). */
export function newSecret(kind: Kind): string {
  return `${KEY_KINDS.get(kind)?.secretPrefix}${randomText(40)}`
}

/**
 * The hash by which a key is stored and found. A plain SHA-256 is enough, since a key is not a password: nobody can try
 * 238 bits. Looking a hash up in an index does not reveal how much of a key was right.
 */
export function hashOf(secret: string): string {
  return hash('sha256', secret, 'hex')
}
