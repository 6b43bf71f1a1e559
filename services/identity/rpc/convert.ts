import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type ApiKeySchema, Principal_Kind, type PrincipalSchema } from '#gen/portico/identity/v1/identity_pb.js'
import type { Principal } from '#shared/rpc/call-context.ts'
import type { ApiKey, ApiKeyKind } from '../domain/api-key.ts'

const KINDS = {
  workspace: Principal_Kind.WORKSPACE,
  personal: Principal_Kind.PERSONAL,
  management: Principal_Kind.MANAGEMENT,
  'local-operator': Principal_Kind.LOCAL_OPERATOR,
} as const

/** The kind of key that a message names; undefined when a key can't be of that kind. */
export function toKeyKind(kind: Principal_Kind): ApiKeyKind | undefined {
  return (['workspace', 'personal', 'management'] as const).find((name) => KINDS[name] === kind)
}

export function fromPrincipal(principal: Principal): MessageInitShape<typeof PrincipalSchema> {
  return { ...principal, kind: KINDS[principal.kind] }
}

export function fromApiKey(key: ApiKey): MessageInitShape<typeof ApiKeySchema> {
  return {
    keyId: key.id,
    workspaceId: key.workspaceId,
    kind: KINDS[key.kind],
    name: key.name,
    prefix: key.prefix,
    disabled: key.disabled,
    createTime: timestampFromMs(key.timeCreated),
    ...(key.timeExpires === undefined ? {} : { expireTime: timestampFromMs(key.timeExpires) }),
  }
}
