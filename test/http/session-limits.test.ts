// The limits of sessions and inputs, which the session service checks, as a client meets them and as the document
// states them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { hasOption } from '@bufbuild/protobuf'
import { limit } from '#gen/portico/options/v1/limit_pb.js'
import { file_portico_session_v1_message as messages } from '#gen/portico/session/v1/message_pb.js'
import { file_portico_session_v1_session as sessions } from '#gen/portico/session/v1/session_pb.js'
import { file_portico_session_v1_session_service as service } from '#gen/portico/session/v1/session_service_pb.js'
import { openPortico } from '#test/support/portico.ts'

interface Case {
  /** Field of the proto. */
  readonly limit: string
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** The name in the document. */
  readonly path: string
  /** A body, or a query. */
  readonly of: (value: unknown) => Record<string, unknown>
  readonly kept: unknown
  readonly passed: unknown
  readonly field: string
  readonly problem: string
  /** What the document says, and about which member of the body or the query. */
  readonly shown: Readonly<Record<string, unknown>>
  readonly member: string
}

const session = '/api/session/{sessionID}'
const x = (length: number): string => 'x'.repeat(length)
const list = (length: number, item: unknown): unknown[] => Array(length).fill(item)

/** A character that JavaScript counts as two counts as one. */
function length(limit: string, method: Case['method'], path: string, member: string, most: number, more = {}): Case {
  const problem = `${most} characters`
  const [kept, passed] = ['😀'.repeat(most), x(most + 1)]
  const of = (value: unknown) => ({ ...more, [member]: value })
  return { limit, method, path, of, kept, passed, field: member, problem, shown: { maxLength: most }, member }
}

function items(limit: string, method: Case['method'], path: string, member: string, most: number, item: unknown): Case {
  const of = (value: unknown) => ({ ...(path.endsWith('prompt') ? parked : {}), [member]: value })
  const [kept, passed, problem] = [list(most, item), list(most + 1, item), `must have at most ${most}`]
  return { limit, method, path, of, kept, passed, field: member, problem, shown: { maxItems: most }, member }
}

function metadata(method: Case['method'], path: string, more = {}): Case {
  const most = 65_536
  const of = (value: unknown) => ({ ...more, metadata: value })
  // {"a":""} has eight bytes, and an ä has two.
  const [kept, passed] = [{ a: 'ä'.repeat((most - 8) / 2) }, { a: `${'ä'.repeat((most - 8) / 2)}x` }]
  const [problem, description] = [`must be at most ${most} bytes as JSON`, /At most 65536 bytes as JSON/]
  const shown = { description }
  return {
    limit: 'Session.metadata',
    method,
    path,
    of,
    kept,
    passed,
    field: 'metadata',
    problem,
    shown,
    member: 'metadata',
  }
}

const parked = { text: 'Hi', resume: false }
const rule = { action: 'read', resource: '*', effect: 'ask' }
const CASES: readonly Case[] = [
  length('Session.title', 'POST', '/api/session', 'title', 4_096),
  length('Session.title', 'PATCH', session, 'title', 4_096),
  length('Session.agent', 'POST', '/api/session', 'agent', 256),
  length('Session.agent', 'POST', `${session}/agent`, 'agent', 256),
  metadata('POST', '/api/session'),
  metadata('PATCH', session),
  metadata('POST', `${session}/prompt`, parked),
  metadata('POST', `${session}/synthetic`, parked),
  items('PermissionRuleset.rules', 'POST', '/api/session', 'permissions', 1_000, rule),
  items('PermissionRuleset.rules', 'PATCH', session, 'permissions', 1_000, rule),
  length('PromptSessionRequest.text', 'POST', `${session}/prompt`, 'text', 1_048_576, parked),
  length('SyntheticText.text', 'POST', `${session}/synthetic`, 'text', 1_048_576, parked),
  items('PromptSessionRequest.files', 'POST', `${session}/prompt`, 'files', 32, { uri: 'data:,a' }),
  items('PromptSessionRequest.agents', 'POST', `${session}/prompt`, 'agents', 32, { name: 'plan' }),
  length('SyntheticText.description', 'POST', `${session}/synthetic`, 'description', 16_384, parked),
  length('ListSessionsRequest.search', 'GET', '/api/session', 'search', 4_096),
  length('ListSessionsRequest.directory', 'GET', '/api/session', 'directory', 4_096),
  length('ListSessionsRequest.project_id', 'GET', '/api/session', 'project', 4_096),
  length('ListSessionsRequest.subpath', 'GET', '/api/session', 'subpath', 4_096, { project: 'a' }),
  length('GetSessionStatsRequest.project_id', 'GET', '/api/experimental/session/stats', 'project', 4_096),
]

/** Tried elsewhere, or beyond the reach of a client of these operations. */
const ELSEWHERE = [
  'AgentAttachment.name',
  'FileInput.description',
  'FileInput.name',
  'Mention.text',
  'SkillInput.skill_id',
  'PromptSessionRequest.skills',
  'CreateSessionRequest.directory',
  'MoveSessionRequest.directory',
  'ListSessionsRequest.parent_id',
  'ListMessagesRequest.page_size',
  'ListSessionsRequest.page_size',
  'ReplyPermissionRequestRequest.message',
  'FileAttachment.data',
  'AssistantMessage.parts',
  'AssistantTool.content',
  'ListInboxItemsResponse.items',
  'ListSavedApprovalsResponse.approvals',
]

interface Shown {
  readonly anyOf?: readonly Shown[]
  readonly properties?: Readonly<Record<string, Shown>>
  readonly [keyword: string]: unknown
}

interface Described {
  readonly parameters?: readonly { readonly name: string; readonly schema: Shown }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Shown }>> }
}

test('the service alone decides how much of a session and an input there may be, and its error names the member', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_a' })
  const send = ({ method, path, of }: Case, value: unknown) => {
    const [url, given] = [path.replace('{sessionID}', 'ses_a'), of(value)]
    if (method === 'GET') return portico.fetch(`${url}?${new URLSearchParams(given as Record<string, string>)}`)
    const headers = { 'content-type': 'application/json' }
    return portico.fetch(url, { method, headers, body: JSON.stringify(given) })
  }
  for (const each of CASES) {
    const { limit, kept, passed, field, problem, path, member } = each
    // A URL has no room for that many four-byte characters.
    const good = await send(each, each.method === 'GET' ? x(String(passed).length - 1) : kept)
    assert.ok(good.ok, `${limit} ${path} ${member}: ${good.status} ${(await good.text()).slice(0, 500)}`)
    const bad = await send(each, passed)
    const { _tag, message, field: named } = (await bad.json()) as Record<string, string>
    assert.deepEqual([bad.status, _tag, named], [400, 'InvalidRequestError', field], `${limit} ${path} ${member}`)
    assert.ok(message?.startsWith(`${field}: `) && message.includes(problem), message)
    assert.deepEqual(portico.rejections.splice(0), ['REQUEST_INVALID'], `${limit} ${path} ${member}`)
  }
})

test('the OpenAPI document shows the limits', async () => {
  await using portico = await openPortico()
  const document = await (await portico.fetch('/openapi.json')).json()
  const { paths } = document as { paths: Record<string, Record<string, Described>> }
  for (const { method, path, member, shown, limit } of CASES) {
    const described = paths[path]?.[method.toLowerCase()]
    const body = described?.requestBody?.content['application/json']?.schema.properties?.[member]
    const schema = body ?? described?.parameters?.find(({ name }) => name === member)?.schema
    const all = { ...schema, ...schema?.anyOf?.[0] }
    for (const [keyword, value] of Object.entries(shown)) {
      if (value instanceof RegExp) assert.match(String(all[keyword]), value, `${limit} ${path} ${member}`)
      else assert.equal(all[keyword], value, `${limit} ${path} ${member}`)
    }
  }
})

test('each limit that the protos of sessions set is tested here', () => {
  const set = [sessions, messages, service].flatMap(({ messages }) =>
    messages.flatMap(({ name: message, fields }) =>
      fields.flatMap((field) => (hasOption(field, limit) ? [`${message}.${field.name}`] : [])),
    ),
  )
  const tried = new Set([...CASES.map(({ limit }) => limit), ...ELSEWHERE])
  assert.deepEqual([...tried].toSorted(), set.toSorted())
})
