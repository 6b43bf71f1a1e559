import type { ServiceImpl } from '@connectrpc/connect'
import {
  type ApiKey,
  KeyTerms_ResponsesDialectSchema as DialectSchema,
  type KeyTerms,
  KeyTermsSchema,
  Principal_Kind as Kind,
  KeyTerms_ResetSchema as ResetSchema,
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
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { decodePageToken, encodePageToken, pageSizeParser } from '#shared/rpc/pages.ts'
import { check, checkEnum, MAX_TIME, parseText } from '#shared/rpc/parse.ts'
import { KEY_KINDS, NO_TERMS } from '../domain/api-key.ts'
import type { IdentityStore, OwnedApiKey } from '../ports/identity-store.ts'
import { newKey, newSecret } from '../run/new-key.ts'
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

/** The keys of the caller's workspace, and the spending limit of all of them together. */
export function apiKeys({ store, clock }: { readonly store: IdentityStore; readonly clock: Clock }) {
  return {
    async createApiKey(request, context) {
      const manager = managerOf(context)
      const by = byOf(manager, clock)
      checkCreate(request)
      const { kind, name, expireTime, terms = NO_TERMS } = request
      check(KEY_KINDS.has(kind), 'kind', 'must be KIND_WORKSPACE, KIND_PERSONAL or KIND_MANAGEMENT')
      const checked = checkTerms(terms)
      checkExpiry(expireTime, by.time)
      if (!manages(manager, kind)) throw new Rejection('OPERATOR_REQUIRED')
      const secret = newSecret(kind)
      const { workspaceId } = manager
      const key = newKey(secret, { workspaceId, kind, name, expireTime, terms: checked }, by)
      return { apiKey: await store.createKey(key, by), secret }
    },

    /** A key may get itself; others require a caller that manages them. */
    async getApiKey({ key }, context) {
      check(key.case !== undefined, 'key', 'must be set')
      const principal = principalOf(context)
      const isOwn = key.case === 'keyId' && key.value === principal.apiKeyId
      if (!isOwn) managerOf(context)
      const owned = await (key.case === 'hash'
        ? store.findKey(key.value)
        : store.getKey(principal.workspaceId, parseKeyId(key.value)))
      // Keys of other workspaces do not exist.
      const isThere = owned?.key.workspaceId === principal.workspaceId && (isOwn || manages(principal, owned.key.kind))
      if (!isThere) throw new Rejection('API_KEY_NOT_FOUND', { key_id: key.value.slice(0, 64) })
      return { apiKey: { ...owned.key, terms: termsIn(owned) } }
    },

    async listApiKeys({ pageSize, pageToken, offset, kinds: only, enabledOnly }, context) {
      const manager = managerOf(context)
      const { workspaceId } = manager
      const limit = parsePageSize(pageSize)
      const scope = `api-keys ${workspaceId}`
      const after = pageToken === undefined ? 0 : decodePageToken(scope, pageToken, isSeq)
      check(offset >= 0, 'offset', 'must not be negative')
      for (const kind of only) {
        const isManaged = KEY_KINDS.has(kind) && manages(manager, kind)
        check(isManaged, 'kinds', 'must be KIND_WORKSPACE or KIND_PERSONAL, or, for the operator, KIND_MANAGEMENT')
      }
      const kinds = only.length > 0 ? only : [...KEY_KINDS.keys()].filter((kind) => manages(manager, kind))
      const { items, more } = await store.listKeys(workspaceId, { after, offset, limit, kinds, enabledOnly })
      const last = more ? items.at(-1) : undefined
      return {
        apiKeys: items.map(({ key }) => key),
        nextPageToken: last && encodePageToken(scope, last.seq),
      }
    },

    async updateApiKey(request, context) {
      const manager = managerOf(context)
      const { key: before } = await requireManagedKey(store, manager, request.keyId)
      const by = byOf(manager, clock)
      const apiKey = await store.reviseKey(manager.workspaceId, before.keyId, changesOf(request, by.time), by)
      if (apiKey === undefined) throw new Rejection('API_KEY_NOT_FOUND', { key_id: before.keyId })
      return { apiKey }
    },

    async deleteApiKey(request, context) {
      const manager = managerOf(context)
      const { key } = await requireManagedKey(store, manager, request.keyId)
      const isDeleted = await store.deleteKey(manager.workspaceId, key.keyId, byOf(manager, clock))
      if (!isDeleted) throw new Rejection('API_KEY_NOT_FOUND', { key_id: key.keyId })
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

export function parseKeyId(keyId: string): string {
  check(/^key_[0-9A-Za-z]{1,60}$/.test(keyId), 'key_id', 'must be an id of the form key_…')
  return keyId
}

/**
 * Whether a principal manages keys of a kind: management keys are only managed by the operator, and do not exist for
 * others.
 */
function manages({ kind }: Principal, ofKind: Kind): boolean {
  return ofKind !== Kind.MANAGEMENT || kind === 'local-operator'
}

/** A key that the caller manages, by its identifier. Its kind never changes. Rejects with API_KEY_NOT_FOUND. */
async function requireManagedKey(store: IdentityStore, manager: Principal, keyId: string): Promise<OwnedApiKey> {
  const apiKey = await store.getKey(manager.workspaceId, parseKeyId(keyId))
  if (apiKey !== undefined && manages(manager, apiKey.key.kind)) return apiKey
  throw new Rejection('API_KEY_NOT_FOUND', { key_id: keyId })
}

function checkExpiry(time: number | undefined, now: number): void {
  const isFuture = time === undefined || (Number.isInteger(time) && time > now && time <= MAX_TIME)
  check(isFuture, 'expire_time', 'must be in the future')
}

function changesOf(request: UpdateApiKeyRequest, now: number): (key: ApiKey) => ApiKey {
  const paths = requireMask(request.updateMask, FIELDS)
  const ofTerms = paths.filter((path) => path.startsWith(IN_TERMS)).map((path) => path.slice(IN_TERMS.length))
  const { disabled, name, expireTime, terms = NO_TERMS } = request
  if (paths.includes('name')) checkUpdate(request)
  if (paths.includes('expire_time')) checkExpiry(expireTime, now)
  const changes: Partial<ApiKey> = {
    ...(paths.includes('disabled') && { disabled }),
    ...(paths.includes('name') && { name }),
    ...(paths.includes('expire_time') && { expireTime }),
  }
  if (ofTerms.length === 0) return (key) => ({ ...key, ...changes })
  return (key) => {
    const merged = withFields(KeyTermsSchema, key.terms ?? NO_TERMS, terms, ofTerms)
    return { ...key, ...changes, terms: checkTerms(merged) }
  }
}

/** The terms without what is ignored in requests; rejects with REQUEST_INVALID if they are invalid. */
function checkTerms(terms: KeyTerms): KeyTerms {
  checkTermLimits(terms, 'terms')
  const { limitReset, responsesDialect } = terms
  if (limitReset !== undefined) checkEnum(ResetSchema, limitReset, 'terms.limit_reset')
  if (responsesDialect !== undefined) checkEnum(DialectSchema, responsesDialect, 'terms.responses_dialect')
  for (const [i, pattern] of terms.allowedModels.entries()) {
    parseText(`terms.allowed_models[${i}]`, pattern, 1, MAX_PATTERN_LENGTH)
  }
  const { workspaceLimitNanos: _, ...checked } = terms
  return checked
}

/** The terms of a key in a workspace that may have a limit; callers must not change them. */
export function termsIn({ key: { terms = NO_TERMS }, workspaceLimitNanos }: OwnedApiKey): KeyTerms {
  return workspaceLimitNanos === undefined ? terms : { ...terms, workspaceLimitNanos }
}

function isSeq(payload: unknown): payload is number {
  return typeof payload === 'number' && Number.isSafeInteger(payload) && payload > 0
}
