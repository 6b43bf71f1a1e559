import assert from 'node:assert/strict'
import test from 'node:test'
import { Code } from '@connectrpc/connect'
import fc from 'fast-check'
import { Rejection } from '#shared/rejection.ts'
import { openFacade, type Stubs } from '#test/support/facade.ts'
import { rawRequest } from '#test/support/raw-http.ts'
import { postToken, TOKEN_FORM, tokenForm } from '#test/support/token-form.ts'

const refuse = () => {
  throw new Rejection('REQUEST_INVALID', { field: 'text', problem: 'Refused' })
}

/** Services that refuse whatever reaches them: an answer of 5xx is the facade's own fault. */
const refusing: Stubs = {
  reasons: { REQUEST_INVALID: { code: Code.InvalidArgument, message: 'M' } },
  session: Object.fromEntries(
    [
      'createSession',
      'getSession',
      'listSessions',
      'promptSession',
      'switchSessionAgent',
      'switchSessionModel',
      'listMessages',
      'getMessage',
      'replyPermissionRequest',
    ].map((name) => [name, refuse]),
  ),
  catalog: { resolveLocation: refuse, listAgents: refuse, getAgent: refuse },
}

const RUNS = { numRuns: 150 }

const expectRefusal = (answer: { status: number; headers: Record<string, unknown>; text: string }, what: string) => {
  assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} for ${what}`)
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(typeof JSON.parse(answer.text)._tag, 'string')
}

test('any JSON, and any bytes, as a body are refused by the facade or the service, never a 5xx', async () => {
  await using facade = await openFacade(refusing)
  const paths = ['', '/ses_1/prompt', '/ses_1/agent', '/ses_1/model', '/ses_1/permission/per_1/reply']
  const member = fc.constantFrom('id', 'text', 'title', 'model', 'metadata', 'files', 'prompt', 'reply', '__proto__')
  const near = fc.dictionary(member, fc.jsonValue(), { noNullPrototype: true })
  const body = fc.oneof(
    fc.json().map((text) => Buffer.from(text)),
    near.map((value) => Buffer.from(JSON.stringify(value))),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), body, async (path, bytes) => {
      const headers = { 'content-type': 'application/json' }
      const url = `${facade.url}/api/session${path}`
      expectRefusal(await rawRequest(url, { method: 'POST', headers, body: bytes }), bytes.toString())
    }),
    RUNS,
  )
})

test('any query is refused or understood, never a 5xx', async () => {
  await using facade = await openFacade(refusing)
  const names = [
    'limit',
    'order',
    'cursor',
    'parentID',
    'subpath',
    'search',
    'location',
    'location[directory]',
    '',
    'a[',
  ]
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('%', '%ff', '%00', 'null', '1e3', '[]'))
  const pairs = fc.array(fc.tuple(fc.constantFrom(...names), text), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('session', 'location', 'agent', 'session/ses_1/message'),
      pairs,
      async (path, list) => {
        const query = list.map(([name, value]) => `${name}=${encodeUnsafe(value)}`).join('&')
        expectRefusal(await rawRequest(facade.url, { path: `/api/${path}?${query}` }), query)
      },
    ),
    RUNS,
  )
})

test('any id in a path is refused or understood, never a 5xx', async () => {
  await using facade = await openFacade(refusing)
  const id = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('ses_%ff', 'ses_%', 'ses_%00', '__proto__', '..'))
  await fc.assert(
    fc.asyncProperty(id, async (given) => {
      const path = `/api/session/ses${encodeUnsafe(given)}/message/msg_${encodeUnsafe(given)}`
      expectRefusal(await rawRequest(facade.url, { path }), path)
    }),
    RUNS,
  )
})

test('any form of the token endpoint is refused in the form of OAuth, never a 5xx', async () => {
  const reasons = { GRANT_REFUSED: { code: Code.PermissionDenied, message: 'M' } }
  const exchangeToken = () => {
    throw new Rejection('GRANT_REFUSED')
  }
  const env = { PORTICO_EXCHANGES_PER_MINUTE: '1000000' }
  await using facade = await openFacade({ reasons, federation: { exchangeToken } }, env)
  const name = fc.constantFrom(...Object.keys(TOKEN_FORM), 'scope', 'requested_token_type', 'audience', 'a[b]', '')
  const value = fc.oneof(
    fc.constantFrom(...Object.values(TOKEN_FORM), 'inference', '', '%', '%00', '%ff', 'a.b.c', '..', '__proto__'),
    fc.string({ unit: 'binary' }).map((text) => encodeUnsafe(text)),
  )
  const changes = fc.array(fc.tuple(name, value), { maxLength: 4 })
  const near = fc.tuple(fc.boolean(), changes).map(([whole, pairs]) => {
    const added = pairs.map(([key, text]) => `${key}=${text}`)
    return Buffer.from([...(whole ? [tokenForm()] : []), ...added].join('&'))
  })
  const body = fc.oneof(
    near,
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  )
  await fc.assert(
    fc.asyncProperty(body, async (bytes) => {
      const { status, text } = await postToken(facade.url, bytes)
      assert.ok(status >= 400 && status < 500, `${status} for ${bytes}`)
      const { error, error_description: description } = JSON.parse(text)
      assert.match(error, /^(invalid_(request|grant|scope)|unsupported_grant_type)$/)
      assert.match(description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    }),
    { numRuns: 1_000 },
  )
})

/** Removes from a URL what node:http would refuse to send, but keeps what is malformed. */
function encodeUnsafe(text: string): string {
  return text.replace(/[^\x21-\x7e]/gu, (character) =>
    character.isWellFormed() ? encodeURIComponent(character) : '%ED%A0%80',
  )
}
