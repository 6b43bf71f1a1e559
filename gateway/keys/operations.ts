import { z } from 'zod'
import { type ApiKey, Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import type { Spending } from '#gen/portico/inference/v1/usage_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import type { Call } from '../call.ts'
import type { Clients } from '../clients.ts'
import { byStatus } from '../kinds.ts'
import { operation } from '../operation.ts'
import { nameParameter } from '../records/ids.ts'
import { fromKey, fromOwnKey, maskOf, publicField, toKeySettings } from './mappers.ts'
import { createKeyBody, KEYS_ON_PAGE, key, listKeysQuery, ownKey, updateKeyBody } from './schemas.ts'

const PATH = '/api/v1/keys'
const KEY_PATH = `${PATH}/{hash}` as const
const ofKey = z.object({ hash: nameParameter("SHA-256 of the key in hexadecimal digits, as a key's `hash`") })
const oneKey = z.strictObject({ data: key })

export const listKeys = operation({
  id: 'keys.list',
  method: 'get',
  path: PATH,
  summary: 'The keys of the workspace that are used for inference, oldest first',
  query: listKeysQuery,
  answer: z.strictObject({ data: z.array(key) }),
  errors: ['WORKSPACE_NOT_FOUND'],
  async handle(clients, { query, call }) {
    requireWorkspace(query.workspace_id, call)
    const offset = Number(query.offset ?? 0)
    const enabledOnly = query.include_disabled !== 'true'
    const { apiKeys } = await clients.identity.listApiKeys(
      { pageSize: KEYS_ON_PAGE, offset, enabledOnly },
      call.options(),
    )
    const spendings = await spendingsOf(clients, apiKeys, call)
    return apiKeys.map((apiKey, i) => ({ apiKey, spending: spendings[i] }))
  },
  present: (keys) => ({ data: keys.map(({ apiKey, spending }) => fromKey(apiKey, spending)) }),
})

export const createKey = operation({
  id: 'keys.create',
  method: 'post',
  path: PATH,
  summary:
    'Creates a key for inference in the workspace of the management key; its secret is shown here and never again',
  body: createKeyBody,
  answer: byStatus({ 201: z.strictObject({ data: key, key: z.string() }) }),
  errors: ['REQUEST_INVALID', 'WORKSPACE_NOT_FOUND'],
  handle({ identity }, { body, call }) {
    requireWorkspace(body.workspace_id, call)
    const { disabled: _, ...settings } = toKeySettings(body)
    return identity.createApiKey({ kind: Principal_Kind.WORKSPACE, ...settings }, call.options())
  },
  present: ({ apiKey, secret }) => ({ status: 201, body: { data: fromKey(apiKey, undefined), key: secret } }),
  publicField,
})

export const getKey = operation({
  id: 'keys.get',
  method: 'get',
  path: KEY_PATH,
  params: ofKey,
  summary: 'One key',
  answer: oneKey,
  handle: (clients, { params, call }) => withSpending(clients, findKey(clients, params.hash, call), call),
  present: ({ apiKey, spending }) => ({ data: fromKey(apiKey, spending) }),
})

export const updateKey = operation({
  id: 'keys.update',
  method: 'patch',
  path: KEY_PATH,
  params: ofKey,
  summary: 'Changes a key, which takes effect with the next request',
  body: updateKeyBody,
  answer: oneKey,
  errors: ['REQUEST_INVALID'],
  async handle(clients, { params, body, call }) {
    const request = { keyId: await idOf(clients, params.hash, call), ...toKeySettings(body), updateMask: maskOf(body) }
    const { apiKey } = await clients.identity.updateApiKey(request, call.options())
    return withSpending(clients, apiKey, call)
  },
  present: ({ apiKey, spending }) => ({ data: fromKey(apiKey, spending) }),
  publicField,
})

export const deleteKey = operation({
  id: 'keys.delete',
  method: 'delete',
  path: KEY_PATH,
  params: ofKey,
  summary: 'Deletes a key; the key, and access tokens that act as it, are refused from the next request on',
  answer: z.strictObject({ deleted: z.literal(true) }),
  async handle(clients, { params, call }) {
    await clients.identity.deleteApiKey({ keyId: await idOf(clients, params.hash, call) }, call.options())
  },
  present: () => ({ deleted: true }),
})

export const getOwnKey = operation({
  id: 'keys.getOwn',
  method: 'get',
  path: '/api/v1/key',
  summary: 'The key of the request, or the one that its access token acts as',
  answer: z.strictObject({ data: ownKey }),
  errors: ['API_KEY_NOT_FOUND'],
  async handle(clients, { call }) {
    const { apiKeyId: keyId, organizationId } = call.requirePrincipal()
    const { apiKey } = await clients.identity.getApiKey({ key: { case: 'keyId', value: keyId } }, call.options())
    return { ...(await withSpending(clients, apiKey, call)), organizationId }
  },
  present: ({ apiKey, spending, organizationId }) => ({ data: fromOwnKey(apiKey, spending, organizationId) }),
})

/** A management key manages the keys of its own workspace; to it there is no other one. */
function requireWorkspace(named: string | undefined, call: Call): void {
  const { workspaceId } = call.requirePrincipal()
  if (named === undefined || named === workspaceId || named.toLowerCase() === workspaceUuid(workspaceId)) return
  throw new Rejection('WORKSPACE_NOT_FOUND', { workspace_id: named.slice(0, 64) })
}

async function findKey({ identity }: Clients, hash: string, call: Call): Promise<ApiKey | undefined> {
  return (await identity.getApiKey({ key: { case: 'hash', value: hash } }, call.options())).apiKey
}

async function idOf(clients: Clients, hash: string, call: Call): Promise<string> {
  return (await findKey(clients, hash, call))?.keyId ?? ''
}

async function withSpending(clients: Clients, key: ApiKey | undefined | Promise<ApiKey | undefined>, call: Call) {
  const apiKey = await key
  const [spending] = apiKey === undefined ? [] : await spendingsOf(clients, [apiKey], call)
  return { apiKey, spending }
}

/** What keys have spent, in their order. */
async function spendingsOf(
  { usage }: Clients,
  apiKeys: readonly ApiKey[],
  call: Call,
): Promise<readonly (Spending | undefined)[]> {
  if (apiKeys.length === 0) return []
  const { keys } = await usage.getKeyUsage({ keyIds: apiKeys.map(({ keyId }) => keyId) }, call.options())
  return keys.map(({ spending }) => spending)
}
