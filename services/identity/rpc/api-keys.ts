import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type ApiKeySchema,
  KeyTerms_ResponsesDialect as Dialect,
  type KeyTerms,
  KeyTermsSchema,
  Principal_Kind,
  KeyTerms_Reset as Reset,
} from '#gen/portico/identity/v1/identity_pb.js'
import {
  CreateApiKeyRequestSchema,
  type IdentityService,
  ListApiKeysRequestSchema,
  SetWorkspaceLimitRequestSchema,
  type UpdateApiKeyRequest,
  UpdateApiKeyRequestSchema,
} from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { pageSizeParser } from '#shared/page-size.ts'
import { decodePageToken, encodePageToken } from '#shared/page-token.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check, MAX_TIME, parseText } from '#shared/rpc/parse.ts'
import { API_KEY_KINDS, type ApiKey, type ApiKeyKind, NO_TERMS, prefixOf } from '../domain/api-key.ts'
import type { IdentityStore, OwnedApiKey } from '../ports/identity-store.ts'
import { hashOf, newSecret } from '../run/secret.ts'
import { byOf, managerOf, operatorOf } from './callers.ts'
import { requireMask, withFields } from './update-mask.ts'

const checkCreate = checkLimits(CreateApiKeyRequestSchema)
const checkUpdate = checkLimits(UpdateApiKeyRequestSchema)
const checkTermLimits = checkLimits(KeyTermsSchema)
const checkLimit = checkLimits(SetWorkspaceLimitRequestSchema)
const parsePageSize = pageSizeParser(ListApiKeysRequestSchema)

/** Maximum length of a pattern for models. */
const MAX_PATTERN_LENGTH = 512
const IN_TERMS = 'terms.'
const TERMS = KeyTermsSchema.fields.map(({ name }) => name).filter((name) => name !== 'workspace_limit_nanos')
const FIELDS = ['disabled', 'name', 'expire_time', ...TERMS.map((name) => `${IN_TERMS}${name}`)]

export const kinds = enumTable({
  workspace: Principal_Kind.WORKSPACE,
  personal: Principal_Kind.PERSONAL,
  management: Principal_Kind.MANAGEMENT,
  'local-operator': Principal_Kind.LOCAL_OPERATOR,
})

/** The keys of the caller's workspace, and the spending limit of all of them together. */
export function apiKeys({ store, clock }: { readonly store: IdentityStore; readonly clock: Clock }) {
  return {
    async createApiKey(request, context) {
      const manager = managerOf(context)
      const by = byOf(manager, clock)
      checkCreate(request)
      const kind = keyKindOf(request.kind)
      check(kind !== undefined, 'kind', 'must be KIND_WORKSPACE, KIND_PERSONAL or KIND_MANAGEMENT')
      const terms = request.terms === undefined ? NO_TERMS : parseTerms(request.terms)
      const timeExpires = parseExpiry(request.expireTime, by.time)
      if (!manages(manager, kind)) throw new Rejection('OPERATOR_REQUIRED')
      const secret = newSecret(kind)
      const kept = { id: randomId('key'), hash: hashOf(secret), prefix: prefixOf(secret), timeCreated: by.time }
      const key = { kind, name: request.name, terms, timeExpires, ...kept }
      return { apiKey: apiKeyToProto(await store.createKey(manager.workspaceId, key, by)), secret }
    },

    /** A key may get itself; others require a caller that manages them. */
    async getApiKey({ key }, context) {
      check(key.case !== undefined, 'key', 'must be set')
      const principal = principalOf(context)
      const isOwn = key.case === 'keyId' && key.value === principal.apiKeyId
      if (!isOwn) managerOf(context)
      const found = await (key.case === 'hash'
        ? store.findKey(key.value)
        : store.getKey(principal.workspaceId, parseKeyId(key.value)))
      // Keys of other workspaces do not exist.
      const isThere = found?.key.workspaceId === principal.workspaceId && (isOwn || manages(principal, found.key.kind))
      if (!isThere) throw new Rejection('API_KEY_NOT_FOUND', { key_id: key.value.slice(0, 64) })
      return { apiKey: apiKeyToProto(found.key, found.workspaceLimitNanos) }
    },

    async listApiKeys({ pageSize, pageToken, offset, kinds: only, enabledOnly }, context) {
      const manager = managerOf(context)
      const { workspaceId } = manager
      const limit = parsePageSize(pageSize)
      const scope = `api-keys ${workspaceId}`
      const after = pageToken === undefined ? 0 : decodePageToken(scope, pageToken, isSeq)
      check(offset >= 0, 'offset', 'must not be negative')
      const wanted = only.map((message) => {
        const kind = keyKindOf(message)
        const isManaged = kind !== undefined && manages(manager, kind)
        check(isManaged, 'kinds', 'must be KIND_WORKSPACE or KIND_PERSONAL, or, for the operator, KIND_MANAGEMENT')
        return kind
      })
      const kinds = wanted.length > 0 ? wanted : API_KEY_KINDS.filter((kind) => manages(manager, kind))
      const { items, more } = await store.listKeys(workspaceId, { after, offset, limit, kinds, enabledOnly })
      const last = more ? items.at(-1) : undefined
      return {
        apiKeys: items.map(({ key }) => apiKeyToProto(key)),
        nextPageToken: last && encodePageToken(scope, last.seq),
      }
    },

    async updateApiKey(request, context) {
      const manager = managerOf(context)
      const { key: before } = await requireManagedKey(store, manager, request.keyId)
      const by = byOf(manager, clock)
      const key = await store.reviseKey(manager.workspaceId, before.id, changesOf(request, by.time), by)
      if (key === undefined) throw new Rejection('API_KEY_NOT_FOUND', { key_id: before.id })
      return { apiKey: apiKeyToProto(key) }
    },

    async deleteApiKey(request, context) {
      const manager = managerOf(context)
      const { key } = await requireManagedKey(store, manager, request.keyId)
      const isDeleted = await store.deleteKey(manager.workspaceId, key.id, byOf(manager, clock))
      if (!isDeleted) throw new Rejection('API_KEY_NOT_FOUND', { key_id: key.id })
      return {}
    },

    async setWorkspaceLimit(request, context) {
      const operator = operatorOf(context)
      checkLimit(request)
      const { workspaceId } = operator
      const isSet = await store.setWorkspaceLimit(workspaceId, request.limitNanos, byOf(operator, clock))
      if (!isSet) throw new Rejection('WORKSPACE_NOT_FOUND', { workspace_id: workspaceId })
      return {}
    },
  } satisfies Partial<ServiceImpl<typeof IdentityService>>
}

/** Checks a key's identifier. */
export function parseKeyId(keyId: string): string {
  check(/^key_[0-9A-Za-z]{1,60}$/.test(keyId), 'key_id', 'must be an id of the form key_…')
  return keyId
}

/**
 * Whether a principal manages keys of a kind: management keys are only managed by the operator, and do not exist for
 * others.
 */
function manages({ kind }: Principal, ofKind: ApiKeyKind): boolean {
  return ofKind !== 'management' || kind === 'local-operator'
}

/** A key that the caller manages, by its identifier. Its kind never changes. Rejects with API_KEY_NOT_FOUND. */
async function requireManagedKey(store: IdentityStore, manager: Principal, keyId: string): Promise<OwnedApiKey> {
  const found = await store.getKey(manager.workspaceId, parseKeyId(keyId))
  if (found !== undefined && manages(manager, found.key.kind)) return found
  throw new Rejection('API_KEY_NOT_FOUND', { key_id: keyId })
}

/** When a key expires, in milliseconds since the epoch; undefined: never. */
function parseExpiry(time: Timestamp | undefined, now: number): number | undefined {
  const expires = time && timestampMs(time)
  check(expires === undefined || (expires > now && expires <= MAX_TIME), 'expire_time', 'must be in the future')
  return expires
}

function changesOf(request: UpdateApiKeyRequest, now: number): (key: ApiKey) => ApiKey {
  const paths = requireMask(request.updateMask, FIELDS)
  const ofTerms = paths.filter((path) => path.startsWith(IN_TERMS)).map((path) => path.slice(IN_TERMS.length))
  if (paths.includes('name')) checkUpdate(request)
  const changes: Partial<ApiKey> = {
    ...(paths.includes('disabled') && { disabled: request.disabled }),
    ...(paths.includes('name') && { name: request.name }),
    ...(paths.includes('expire_time') && { timeExpires: parseExpiry(request.expireTime, now) }),
  }
  if (ofTerms.length === 0) return (key) => ({ ...key, ...changes })
  const terms = request.terms ?? create(KeyTermsSchema)
  return (key) => {
    return { ...key, ...changes, terms: parseTerms(withFields(KeyTermsSchema, key.terms, terms, ofTerms)) }
  }
}

/** The terms without what is ignored in requests; rejects with REQUEST_INVALID if they are invalid. */
function parseTerms(terms: KeyTerms): KeyTerms {
  checkTermLimits(terms, 'terms')
  const { limitReset: reset, responsesDialect: dialect } = terms
  check(reset === undefined || (reset > 0 && reset in Reset), 'terms.limit_reset', 'is not known')
  check(dialect === undefined || (dialect > 0 && dialect in Dialect), 'terms.responses_dialect', 'is not known')
  for (const [i, pattern] of terms.allowedModels.entries()) {
    parseText(`terms.allowed_models[${i}]`, pattern, 1, MAX_PATTERN_LENGTH)
  }
  const { workspaceLimitNanos: _, ...parsed } = terms
  return parsed
}

/** The terms of a key in a workspace that may have a limit; callers must not change them. */
export function termsIn({ key: { terms }, workspaceLimitNanos }: Omit<OwnedApiKey, 'organizationId'>): KeyTerms {
  return workspaceLimitNanos === undefined ? terms : { ...terms, workspaceLimitNanos }
}

function isSeq(payload: unknown): payload is number {
  return Number.isSafeInteger(payload) && (payload as number) > 0
}

/** The kind of key in a message; undefined if keys cannot be of that kind. */
function keyKindOf(kind: Principal_Kind): ApiKeyKind | undefined {
  const name = kinds.fromProto(kind)
  return name === 'local-operator' ? undefined : name
}

/** Converts a key, without its secret. `workspaceLimitNanos` is that of its workspace, if it was read with it. */
function apiKeyToProto(
  key: ApiKey,
  workspaceLimitNanos: bigint | undefined = undefined,
): MessageInitShape<typeof ApiKeySchema> {
  return {
    keyId: key.id,
    workspaceId: key.workspaceId,
    kind: kinds.toProto(key.kind),
    name: key.name,
    prefix: key.prefix,
    disabled: key.disabled,
    hash: key.hash,
    terms: termsIn({ key, workspaceLimitNanos }),
    createTime: timestampFromMs(key.timeCreated),
    updateTime: timestampFromMs(key.timeUpdated),
    creatorKeyId: key.creatorKeyId,
    expireTime: key.timeExpires === undefined ? undefined : timestampFromMs(key.timeExpires),
  }
}
