import assert from 'node:assert/strict'
import test from 'node:test'
import { Code } from '@connectrpc/connect'
import { ALL_OPERATIONS } from '#gateway/app/operations.ts'
import { publicError } from '#gateway/errors/public-error.ts'
import type { Operation } from '#gateway/operation.ts'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { type AnyReason, Rejection } from '#shared/rejection.ts'
import { openFacade, type Stubs, TEST_KEYS } from '#test/support/facade.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { FORM_TYPE, tokenForm } from '#test/support/token-form.ts'
import { FEDERATION } from './federation-provocations.ts'
import { KEYS } from './keys-provocations.ts'

/** How an error of an operation is provoked; a missing member is that of `VALID`. */
interface Provocation {
  readonly path?: string
  /** A string is a form. */
  readonly body?: unknown
  /**
   * The real services, as they are started, where keys are needed, or stubs that reject with the reason: a peer is
   * away.
   */
  readonly by?: 'services' | 'services with keys' | 'stubs'
}

const unknown = '/api/session/ses_unknown'
const known = '/api/session/ses_known'
const full = '/api/session/ses_full'
const long = 'x'.repeat(5_000)
const model = { id: 'a', providerID: 'b' }
const echo = { model: 'portico/echo' }
const question = (content: string) => ({ ...echo, messages: [{ role: 'user', content }] })
const away = { by: 'stubs' } as const
const unknownPreset = '/api/v1/presets/unknown'
const noSession = (path = ''): Provocation => ({ path: `${unknown}${path}` })

const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
const info = (id: string) => ({ id, cost: 0, tokens, time: { created: 1 } })
const system = (id: string) => ({ id, type: 'system', time: { created: 1 }, text: '' })
const importedTo = (directory: string) => ({ info: info('ses_new'), messages: [], location: { directory } })

/** How each declared error of an operation is provoked. */
const PROVOCATIONS: Readonly<Record<string, Readonly<Partial<Record<AnyReason, Provocation>>>>> = {
  'session.list': {
    INVALID_CURSOR: { path: '/api/session?cursor=x' },
    REQUEST_INVALID: { path: `/api/session?search=${long}` },
  },
  'experimental.session.stats': { REQUEST_INVALID: { path: '/api/experimental/session/stats?from=2&to=1' } },
  'session.create': {
    REQUEST_INVALID: { body: { title: long } },
    LOCATION_INVALID: { body: { location: { directory: 'relative' } } },
    LOCATION_NOT_FOUND: { body: { location: { directory: '/does/not/exist' } } },
    LOCATION_FORBIDDEN: { body: { location: { directory: '/' } }, by: 'services with keys' },
    PEER_UNAVAILABLE: { body: {}, ...away },
  },
  'session.get': { SESSION_NOT_FOUND: noSession() },
  'session.remove': { SESSION_NOT_FOUND: noSession() },
  'session.fork': {
    SESSION_NOT_FOUND: { ...noSession('/fork'), body: {} },
    MESSAGE_NOT_FOUND: { path: `${known}/fork`, body: { before: 'msg_unknown' } },
    SESSION_EMPTY: { path: `${known}/fork`, body: {} },
  },
  'session.update': {
    SESSION_NOT_FOUND: { ...noSession(), body: { title: 'Other' } },
    REQUEST_INVALID: { path: known, body: { title: long } },
  },
  'session.view': { SESSION_NOT_FOUND: { ...noSession('/view'), body: { idle: 1 } } },
  'session.switchAgent': {
    SESSION_NOT_FOUND: { ...noSession('/agent'), body: { agent: 'plan' } },
    REQUEST_INVALID: { path: `${known}/agent`, body: { agent: long } },
  },
  'session.switchModel': {
    SESSION_NOT_FOUND: { ...noSession('/model'), body: { model } },
    REQUEST_INVALID: { path: `${known}/model`, body: { model: { ...model, id: long } } },
  },
  'session.move': {
    SESSION_NOT_FOUND: { ...noSession('/move'), body: { directory: '.' } },
    INBOX_FULL: { path: `${full}/move`, body: { directory: '.' } },
    DESTINATION_INVALID: { path: `${known}/move`, body: { directory: '/does/not/exist' } },
    REQUEST_INVALID: { path: `${known}/move`, body: { directory: long } },
    PEER_UNAVAILABLE: { path: `${known}/move`, body: { directory: '.' }, ...away },
  },
  'session.prompt': {
    SESSION_NOT_FOUND: { ...noSession('/prompt'), body: { text: 'Hi' } },
    PROMPT_CONFLICT: { path: `${known}/prompt`, body: { id: 'msg_known', text: 'other' } },
    INBOX_ITEM_CANCELLED: { path: `${known}/prompt`, body: { id: 'msg_gone', text: 'Hi' } },
    INBOX_FULL: { path: `${full}/prompt`, body: { text: 'Hi', resume: false } },
    ATTACHMENT_INVALID: { path: `${known}/prompt`, body: { text: 'Hi', files: [{ uri: 'https://example.com' }] } },
    REQUEST_INVALID: { path: `${known}/prompt`, body: { text: 'Hi', agents: [{ name: long }] } },
    PEER_UNAVAILABLE: { path: `${known}/prompt`, body: { text: 'Hi' }, ...away },
  },
  'session.synthetic': {
    SESSION_NOT_FOUND: { ...noSession('/synthetic'), body: { text: 'Hi' } },
    PROMPT_CONFLICT: { path: `${known}/synthetic`, body: { id: 'msg_known', text: 'other' } },
    INBOX_ITEM_CANCELLED: { path: `${known}/synthetic`, body: { id: 'msg_gone', text: 'Hi' } },
    INBOX_FULL: { path: `${full}/synthetic`, body: { text: 'Hi', resume: false } },
    REQUEST_INVALID: { path: `${known}/synthetic`, body: { text: 'Hi', description: 'x'.repeat(17_000) } },
  },
  'session.compact': {
    SESSION_NOT_FOUND: { ...noSession('/compact'), body: {} },
    PROMPT_CONFLICT: { path: `${known}/compact`, body: { id: 'msg_known' } },
    INBOX_ITEM_CANCELLED: { path: `${known}/compact`, body: { id: 'msg_gone' } },
    INBOX_FULL: { path: `${full}/compact`, body: {} },
  },
  'session.inbox.list': { SESSION_NOT_FOUND: noSession('/inbox') },
  'session.inbox.update': {
    SESSION_NOT_FOUND: { ...noSession('/inbox/msg_known'), body: { delivery: 'queue' } },
    INBOX_ITEM_CONFLICT: { path: `${known}/inbox/msg_known`, body: { delivery: 'steer' } },
  },
  'session.inbox.cancel': { SESSION_NOT_FOUND: noSession('/inbox/msg_known') },
  'session.interrupt': { SESSION_NOT_FOUND: noSession('/interrupt') },
  'session.resume': { SESSION_NOT_FOUND: noSession('/resume') },
  'experimental.session.wait': { SESSION_NOT_FOUND: { path: '/api/experimental/session/ses_unknown/wait' } },
  'session.wait': { SESSION_NOT_FOUND: noSession('/wait') },
  'session.messages': {
    SESSION_NOT_FOUND: noSession('/message'),
    INVALID_CURSOR: { path: `${known}/message?cursor=x` },
    REQUEST_INVALID: { path: `${known}/message?limit=201` },
  },
  'session.message': {
    SESSION_NOT_FOUND: noSession('/message/msg_1'),
    MESSAGE_NOT_FOUND: { path: `${known}/message/msg_unknown` },
  },
  'session.context': { SESSION_NOT_FOUND: noSession('/context') },
  'event.subscribe': { ...ofLocation('/api/event'), EVENTS_OVERFLOWED: { path: '/api/event', ...away } },
  'experimental.session.log': { SESSION_NOT_FOUND: { path: '/api/experimental/session/ses_unknown/log' } },
  'experimental.session.import': {
    SESSION_EXISTS: { body: { info: info('ses_known'), messages: [] } },
    MESSAGE_EXISTS: { body: { info: info('ses_new'), messages: [system('msg_known')] } },
    SESSION_NOT_FOUND: { body: { info: { ...info('ses_new'), parentID: 'ses_unknown' }, messages: [] } },
    REQUEST_INVALID: { body: { info: { ...info('ses_new'), title: long }, messages: [] } },
    LOCATION_INVALID: { body: importedTo('relative') },
    LOCATION_NOT_FOUND: { body: importedTo('/does/not/exist') },
    LOCATION_FORBIDDEN: { body: importedTo('/'), by: 'services with keys' },
    PEER_UNAVAILABLE: { body: importedTo('.'), ...away },
  },
  'experimental.session.export': { SESSION_NOT_FOUND: { path: '/api/experimental/session/ses_unknown/export' } },
  'session.permission.list': { SESSION_NOT_FOUND: noSession('/permission') },
  'session.permission.get': {
    SESSION_NOT_FOUND: noSession('/permission/per_1'),
    PERMISSION_REQUEST_NOT_FOUND: { path: `${known}/permission/per_unknown` },
  },
  'session.permission.reply': {
    SESSION_NOT_FOUND: { ...noSession('/permission/per_1/reply'), body: { reply: 'once' } },
    PERMISSION_REQUEST_NOT_FOUND: { path: `${known}/permission/per_unknown/reply`, body: { reply: 'once' } },
    REQUEST_INVALID: { path: `${known}/permission/per_unknown/reply`, body: { reply: 'once', message: long } },
  },
  'model.list': ofLocation('/api/model'),
  'provider.list': ofLocation('/api/provider'),
  'provider.get': { ...ofLocation('/api/provider/portico'), PROVIDER_NOT_FOUND: { path: '/api/provider/nobody' } },
  'agent.list': ofLocation('/api/agent'),
  'mcp.list': ofLocation('/api/mcp'),
  'location.reload': {
    LOCATION_RELOAD_FAILED: { path: '/api/location/reload', ...away },
    PEER_UNAVAILABLE: { path: '/api/location/reload', ...away },
  },
  'plugin.list': ofLocation('/api/plugin'),
  'skill.list': ofLocation('/api/skill'),
  'agent.get': { ...ofLocation('/api/agent/build'), AGENT_NOT_FOUND: { path: '/api/agent/nobody' } },
  'location.get': ofLocation('/api/location'),
  'plugin.check': {
    ...withBody(ofLocation('/api/plugin/check'), { target: null }),
    PLUGIN_NOT_FOUND: { body: { target: 'nobody' } },
  },
  'plugin.update': {
    ...withBody(ofLocation('/api/plugin/update'), { targets: [] }),
    PLUGIN_NOT_FOUND: { body: { targets: ['nobody'] } },
    PLUGINS_NOT_UPDATED: { body: { targets: ['acme'] } },
  },
  'chat.completions.create': {
    MODEL_NOT_FOUND: { body: { ...question('Hi'), model: 'a/b' } },
    PRESET_NOT_FOUND: { body: { ...question('Hi'), preset: 'none' } },
    // One message more than a generation may have.
    REQUEST_INVALID: { body: { ...echo, messages: Array(20_001).fill({ role: 'user', content: '' }) } },
    // The gateway generates the ids of requests.
    REQUEST_DUPLICATE: { body: question('Hi'), ...away },
    ...limits(question('Hi')),
    PROVIDER_REFUSED: { body: question('/fail 400') },
    PROVIDER_RATE_LIMITED: { body: question('/fail 429') },
    PROVIDER_UNAVAILABLE: { body: question('/fail 500') },
    PROVIDER_TIMEOUT: { body: question('/fail 504') },
  },
  'responses.create': {
    MODEL_NOT_FOUND: { body: { model: 'a/b', input: 'Hi' } },
    PRESET_NOT_FOUND: { body: { model: '@preset/unknown', input: 'Hi' } },
    // With the instructions, one message more than a generation may have.
    REQUEST_INVALID: {
      body: { ...echo, instructions: 'Hi', input: Array(20_000).fill({ role: 'user', content: '' }) },
    },
    // The gateway generates the ids of requests.
    REQUEST_DUPLICATE: { body: { ...echo, input: 'Hi' }, ...away },
    ...limits({ ...echo, input: 'Hi' }),
    PROVIDER_REFUSED: { body: { ...echo, input: '/fail 400' } },
    PROVIDER_RATE_LIMITED: { body: { ...echo, input: '/fail 429' } },
    PROVIDER_UNAVAILABLE: { body: { ...echo, input: '/fail 500' } },
    PROVIDER_TIMEOUT: { body: { ...echo, input: '/fail 504' } },
  },
  'messages.create': {
    MODEL_NOT_FOUND: { body: { model: 'a/b', ...say('Hi') } },
    PRESET_NOT_FOUND: { body: { ...echo, ...say('Hi'), preset: 'none' } },
    ...limits({ ...echo, ...say('Hi') }),
    REQUEST_INVALID: { body: { ...echo, ...say('Hi'), temperature: 3 } },
    REQUEST_DUPLICATE: { body: { ...echo, ...say('Hi') }, ...away },
    PROVIDER_REFUSED: { body: { ...echo, ...say('/fail 400') } },
    PROVIDER_RATE_LIMITED: { body: { ...echo, ...say('/fail 429') } },
    PROVIDER_UNAVAILABLE: { body: { ...echo, ...say('/fail 500') } },
    PROVIDER_TIMEOUT: { body: { ...echo, ...say('/fail 504') } },
  },
  'presets.createFromChat': createdFrom('chat/completions'),
  'presets.createFromMessages': createdFrom('messages'),
  'presets.createFromResponses': createdFrom('responses'),
  'presets.list': {},
  'presets.get': { PRESET_NOT_FOUND: { path: unknownPreset } },
  'presets.versions.list': { PRESET_NOT_FOUND: { path: `${unknownPreset}/versions` } },
  'presets.versions.get': {
    PRESET_NOT_FOUND: { path: `${unknownPreset}/versions/1` },
    PRESET_VERSION_NOT_FOUND: { path: '/api/v1/presets/known/versions/1', ...away },
  },
  'usage.generation': {
    GENERATION_NOT_FOUND: { path: '/api/v1/generation?id=gen-unknown' },
    REQUEST_INVALID: { path: `/api/v1/generation?id=${long}` },
  },
  'usage.activity': {
    API_KEY_NOT_FOUND: { path: `/api/v1/activity?api_key_hash=${'0'.repeat(64)}` },
    REQUEST_INVALID: { path: '/api/v1/activity?date=2000-01-01' },
  },
  'messages.countTokens': {
    MODEL_NOT_FOUND: { body: { model: 'a/b', ...say('Hi') } },
    PRESET_NOT_FOUND: { body: { ...echo, ...say('Hi'), preset: 'none' } },
    REQUEST_INVALID: { body: { ...echo, ...say('Hi'), temperature: 3 } },
    MODEL_FORBIDDEN: { body: { ...echo, ...say('Hi') }, ...away },
    NO_ENDPOINT: { body: { ...echo, ...say('Hi'), provider: { only: ['nobody'] } } },
    REQUEST_DUPLICATE: { body: { ...echo, ...say('Hi') }, ...away },
    RATE_LIMITED: { body: { ...echo, ...say('Hi') }, ...away },
    // The built-in provider does not count tokens.
    PROVIDER_REFUSED: { body: { ...echo, ...say('Hi') }, ...away },
  },
  ...FEDERATION,
  ...KEYS,
  'oauth.exchange': {
    GRANT_REFUSED: { body: tokenForm() },
    SUBJECT_TOKEN_INVALID: { body: tokenForm(), ...away },
    ISSUER_KEYS_UNAVAILABLE: { body: tokenForm(), ...away },
    SIGNING_UNAVAILABLE: { body: tokenForm(), ...away },
  },
  'oauth.keys': { SIGNING_UNAVAILABLE: away },
}

function say(content: string) {
  return { max_tokens: 100, messages: [{ role: 'user', content }] }
}

/** Neither limits, which these keys do not have, nor a demand that no provider meets. */
function limits(body: object): Partial<Record<AnyReason, Provocation>> {
  const refused = { body, ...away }
  const unmet = { NO_ENDPOINT: { body: { ...body, provider: { only: ['nobody'] } } } }
  return {
    CREDIT_INSUFFICIENT: refused,
    PRICE_UNKNOWN: refused,
    RATE_LIMITED: refused,
    MODEL_FORBIDDEN: refused,
    ...unmet,
  }
}

function ofLocation(path: string): Partial<Record<AnyReason, Provocation>> {
  const at = (directory: string) => `${path}?location[directory]=${directory}`
  return {
    LOCATION_INVALID: { path: at('relative') },
    LOCATION_NOT_FOUND: { path: at('/does/not/exist') },
    LOCATION_FORBIDDEN: { path: at('/'), by: 'services with keys' },
  }
}

function withBody(provocations: ReturnType<typeof ofLocation>, body: unknown): ReturnType<typeof ofLocation> {
  return Object.fromEntries(Object.entries(provocations).map(([reason, one]) => [reason, { ...one, body }]))
}

function createdFrom(dialect: string): Partial<Record<AnyReason, Provocation>> {
  const path = `/api/v1/presets/known/${dialect}`
  return { REQUEST_INVALID: { path, body: { temperature: 3 } }, PRESET_CONFLICT: { path, body: {}, ...away } }
}

function requestOf(
  { method, path, credentials }: Operation,
  { path: given, body }: Provocation,
  keys: { readonly api: string; readonly management: string },
): [string, RequestInit] {
  const key = credentials.includes('management') ? keys.management : keys.api
  const headers = { authorization: `Bearer ${key}` }
  const sent = { method: method.toUpperCase(), headers }
  if (typeof body === 'string') return [given ?? path, { ...sent, body, headers: { 'content-type': FORM_TYPE } }]
  const json = { ...sent, headers: { ...headers, 'content-type': 'application/json' } }
  return [given ?? path, body === undefined ? json : { ...json, body: JSON.stringify(body) }]
}

async function expectShown(answer: Response, operation: Operation, reason: AnyReason): Promise<void> {
  const { status, body } = publicError(operation.family, new Rejection(reason))
  const given = (await answer.json()) as Record<string, unknown>
  assert.deepEqual(
    [answer.status, given._tag],
    [status, body._tag],
    `${operation.id} ${reason}: ${JSON.stringify(given)}`,
  )
}

test('each error that an operation declares has a provocation, and nothing else has one', () => {
  const declared = ALL_OPERATIONS.flatMap(({ id, errors }) => errors.map((reason) => `${id} ${reason}`))
  const provoked = Object.entries(PROVOCATIONS).flatMap(([id, each]) =>
    Object.keys(each).map((name) => `${id} ${name}`),
  )
  assert.deepEqual(provoked.toSorted(), declared.toSorted())
})

test('the real services answer each provocation with the error that is declared', async () => {
  // It may not run: the project is not trusted.
  await using portico = await openPortico({}, { 'opencode.json': '{"plugins":["acme"]}' })
  await using locked = await openPortico({ PORTICO_AUTH: 'bearer' })
  await portico.post('/api/session', { id: 'ses_known' })
  await portico.post(`${known}/prompt`, { id: 'msg_known', text: 'Hi', resume: false })
  await portico.post(`${known}/prompt`, { id: 'msg_gone', text: 'Hi', resume: false })
  await portico.fetch(`${known}/inbox/msg_gone`, { method: 'DELETE' })
  await portico.post('/api/session', { id: 'ses_full' })
  const fill = () => portico.post(`${full}/synthetic`, { text: 'Hi', resume: false })
  for (let n = 0; n < 1_000; n += 50) await Promise.all(Array.from({ length: 50 }, fill))
  for (const [operation, reason, provocation] of provocations()) {
    if (provocation.by === 'stubs') continue
    const server: Portico = provocation.by === 'services with keys' ? locked : portico
    const answer = await server.fetch(...requestOf(operation, provocation, PORTICO_KEYS))
    await expectShown(answer, operation, reason)
    // Several reasons look alike: what the gateway itself refuses is none that it declares.
    assert.deepEqual(server.rejections.splice(0), [reason], `${operation.id} ${reason}`)
  }
})

test('rejections of a service that is away or behind are shown as declared', async () => {
  let reason: AnyReason = 'PEER_UNAVAILABLE'
  const reject = (): never => {
    throw new Rejection(reason)
  }
  const all = (service: { readonly methods: readonly { readonly localName: string }[] }) =>
    Object.fromEntries(service.methods.map(({ localName }) => [localName, reject]))
  const reasons: Stubs['reasons'] = Object.fromEntries(
    ALL_OPERATIONS.flatMap(({ errors }) => errors.map((each) => [each, { code: Code.Unknown, message: 'M' }])),
  )
  await using facade = await openFacade({
    ...{
      session: all(SessionService),
      inference: all(InferenceService),
      presets: all(PresetService),
      federation: all(FederationService),
      identity: { getApiKey: reject },
      reasons,
    },
  })
  const keys = { api: TEST_KEYS.workspace, management: TEST_KEYS.management }
  for (const [operation, each, provocation] of provocations()) {
    if (provocation.by !== 'stubs') continue
    reason = each
    await expectShown(await facade.fetch(...requestOf(operation, provocation, keys)), operation, each)
  }
})

function provocations(): [Operation, AnyReason, Provocation][] {
  return ALL_OPERATIONS.flatMap((operation) =>
    operation.errors.map((reason): [Operation, AnyReason, Provocation] => {
      const provocation = PROVOCATIONS[operation.id]?.[reason]
      assert.ok(provocation, `${operation.id} ${reason}`)
      return [operation, reason, provocation]
    }),
  )
}
