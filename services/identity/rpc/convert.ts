import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type ApiKeySchema, Principal_Kind, type PrincipalSchema } from '#gen/portico/identity/v1/identity_pb.js'
import type { Principal } from '#shared/rpc/call-context.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { ApiKey, ApiKeyKind } from '../domain/api-key.ts'
import { termsToProto } from './key-terms.ts'

const kinds = enumTable({
  workspace: Principal_Kind.WORKSPACE,
  personal: Principal_Kind.PERSONAL,
  management: Principal_Kind.MANAGEMENT,
  'local-operator': Principal_Kind.LOCAL_OPERATOR,
})

/** The kind of key in a message; undefined if keys cannot be of that kind. */
export function keyKindFromProto(kind: Principal_Kind): ApiKeyKind | undefined {
  const name = kinds.fromProto(kind)
  return name === 'local-operator' ? undefined : name
}

export function principalToProto(principal: Principal): MessageInitShape<typeof PrincipalSchema> {
  return { ...principal, apiKeyId: principal.apiKeyId || undefined, kind: kinds.toProto(principal.kind) }
}

/** Converts a key, without its secret. `workspaceLimitNanos` is that of its workspace, if it was read with it. */
export function apiKeyToProto(key: ApiKey, workspaceLimitNanos?: bigint): MessageInitShape<typeof ApiKeySchema> {
  return {
    keyId: key.id,
    workspaceId: key.workspaceId,
    kind: kinds.toProto(key.kind),
    name: key.name,
    prefix: key.prefix,
    disabled: key.disabled,
    hash: key.hash,
    terms: termsToProto(key.terms, workspaceLimitNanos),
    createTime: timestampFromMs(key.timeCreated),
    updateTime: timestampFromMs(key.timeUpdated),
    ...(key.creatorKeyId === undefined ? {} : { creatorKeyId: key.creatorKeyId }),
    ...(key.timeExpires === undefined ? {} : { expireTime: timestampFromMs(key.timeExpires) }),
  }
}
