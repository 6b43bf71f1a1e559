import assert from 'node:assert/strict'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { openFacade, type TestFacade } from '#test/support/facade.ts'
import { rawRequest } from '#test/support/raw-http.ts'
import { stubSession } from '#test/support/stub-session.ts'

const json = { 'content-type': 'application/json' }

/** A facade whose session service returns the title that it was given. */
const echoing = (env: Record<string, string> = {}): Promise<TestFacade> =>
  openFacade(
    {
      session: {
        createSession: ({ sessionId, title, metadata }) => ({
          session: stubSession({
            sessionId,
            ...(title === undefined ? {} : { title }),
            ...(metadata === undefined ? {} : { metadata }),
          }),
        }),
      },
    },
    env,
  )

const create = (facade: TestFacade, body: string | Buffer, headers: Record<string, string> = json) =>
  rawRequest(`${facade.url}/api/session`, { method: 'POST', headers, body })

async function refused(facade: TestFacade, status: number, message: string, body: string | Buffer, headers = json) {
  const answer = await create(facade, body, headers)
  assert.equal(answer.status, status, `${message}: ${answer.text}`)
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  assert.deepEqual(JSON.parse(answer.text), { _tag: 'InvalidRequestError', message, kind: 'Payload' })
}

test('UTF-8 of any plane, escapes and a charset are understood', async () => {
  await using facade = await echoing()
  const headers = { 'content-type': 'Application/JSON; charset="UTF-8"' }
  const title = 'Ünï 😀 \u0000 \\u'
  const answer = await create(facade, JSON.stringify({ title }), headers)
  assert.equal(answer.status, 200)
  assert.equal(JSON.parse(answer.text).data.title, title)
})

test('a body that is missing, or null where null is no object, is 400', async () => {
  await using facade = await echoing()
  await refused(facade, 400, 'A request body is required', '')
  await refused(facade, 400, 'A request body is required', '', {} as typeof json)
  await refused(facade, 400, 'The body must be an object', 'null')
  await refused(facade, 400, 'The body must be an object', '[]')
})

test('malformed JSON is 400', async () => {
  await using facade = await echoing()
  for (const body of ['{', '{"title":}', "{'title':1}", '{"a":1}x', '\ufeff{}', '{"title":"\u0001"}', 'NaN']) {
    await refused(facade, 400, 'The body is not valid JSON', body)
  }
  await refused(facade, 400, 'The body is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))
})

test('refuses text that is not well-formed Unicode, and names its member', async () => {
  await using facade = await echoing()
  for (const [body, message] of [
    ['"title":"\\ud800"', 'title: has a lone surrogate'],
    ['"metadata":{"a":[{"b":1},{"b":["c",{"d":"\\udc00"}]}]}', 'metadata.a.1.b.1.d: has a lone surrogate'],
    ['"metadata":{"b":{"a\\u0000":1}}', 'metadata.b: has a member name with a lone surrogate or NUL'],
    ['"a\\ud800":1', 'The body has a member name with a lone surrogate or NUL'],
  ] as const) {
    await refused(facade, 400, message, `{${body}}`)
  }
  await refused(facade, 400, 'The body has a lone surrogate', '"\\ud800"')
})

test('unknown members and members of the prototype are 400, and change nothing', async () => {
  await using facade = await echoing()
  await refused(facade, 400, 'The body has the unknown member "bogus"', '{"bogus":1}')
  await refused(facade, 400, 'The body has the unknown member "__proto__"', '{"__proto__":{"title":"x"}}')
  await refused(facade, 400, 'The body has the unknown member "constructor"', '{"constructor":{"prototype":{}}}')
  const message = 'metadata: must not have a member called __proto__'
  await refused(facade, 400, message, '{"metadata":{"a":[{"__proto__":{"polluted":1}}]}}')
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
})

test('absent and null mean the same', async () => {
  await using facade = await echoing()
  const body = { id: null, title: null, agent: null, model: null, location: null, metadata: null, permissions: null }
  const answer = await create(facade, JSON.stringify(body))
  assert.equal(answer.status, 200)
  assert.match(JSON.parse(answer.text).data.id, /^ses_[0-9a-f]{14}[0-9A-Za-z]{12}$/)
})

test('a message names the path that is wrong', async () => {
  await using facade = await echoing()
  await refused(facade, 400, 'id: must be a session id (ses…)', '{"id":"abc"}')
  await refused(facade, 400, 'title: must be a string', '{"title":1}')
  await refused(facade, 400, 'agent: must not be empty', '{"agent":""}')
  await refused(facade, 400, 'model.id: is required', '{"model":{"providerID":"x"}}')
  const rules = '{"permissions":[{"action":"read","resource":"*","effect":"maybe"}]}'
  await refused(facade, 400, 'permissions.0.effect: must be "allow", "deny" or "ask"', rules)
})

test('free-form JSON may nest 24 levels deep, not more', async () => {
  await using facade = await echoing()
  const nested = (levels: number) => `{"metadata":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`
  assert.equal((await create(facade, nested(24))).status, 200)
  await refused(facade, 400, 'metadata: must be nested at most 24 levels deep', nested(25))
  await refused(facade, 400, 'The JSON is nested more than 100 levels deep', nested(100_000))
})

test('accepts unknown parameters of the content type', async () => {
  await using facade = await echoing()
  for (const type of [
    'application/json; foo=bar; charset=utf-8',
    'application/json;charset=UTF-8;foo="a;b\\"c; charset=latin1"',
    'APPLICATION/JSON ; version=1',
    'application/json; profile="https://example.com/p"; q=0.5;',
    'application/json;',
  ]) {
    assert.equal((await create(facade, '{"title":"x"}', { 'content-type': type })).status, 200, type)
  }
})

test('a body of another content type is 415', async () => {
  await using facade = await echoing()
  const message = 'The content type must be application/json'
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; charset=latin1',
    'application/json; foo=bar; charset="iso-8859-1"',
    'application/json; foo',
    'application/json; foo="bar',
    'application/json foo=bar',
    'application/json, application/json',
    'application/jsonx',
    'application/problem+json',
  ]) {
    await refused(facade, 415, message, '{}', { 'content-type': type })
  }
  await refused(facade, 415, message, '{}', {} as typeof json)
})

test('a compressed body is 415', async () => {
  await using facade = await echoing()
  const headers = { ...json, 'content-encoding': 'gzip' }
  await refused(facade, 415, 'The body must not be compressed', gzipSync('{}'), headers)
})

test('a body over the limit is 413, before it is read when its length is known', async () => {
  await using facade = await echoing({ PORTICO_BODY_LIMIT_BYTES: '2000' })
  const body = JSON.stringify({ title: 'x'.repeat(2_000) })
  await refused(facade, 413, 'The body has more than 2000 bytes', body)
  await refused(facade, 413, 'The body has more than 2000 bytes', body, {
    ...json,
    'transfer-encoding': 'chunked',
  } as typeof json)
  const exact = `{"title":"${'x'.repeat(2_000 - 12)}"}`
  assert.equal((await create(facade, exact)).status, 200)
})

test('a connection stays usable after a refused body', async () => {
  await using facade = await echoing({ PORTICO_BODY_LIMIT_BYTES: '2000' })
  for (let round = 0; round < 3; round++) {
    const large = await facade.fetch('/api/session', { method: 'POST', headers: json, body: 'x'.repeat(300_000) })
    assert.equal(large.status, 413)
    await large.text()
    const small = await facade.fetch('/api/session', { method: 'POST', headers: json, body: '{}' })
    assert.equal(small.status, 200)
    await small.text()
  }
})

test('refuses a large body while others of its organization hold half of the memory for them, and takes it when they have been answered', async () => {
  const item = {
    ...{ messageId: 'msg_1', sessionId: 'ses_1', createTime: 1, delivery: 1 },
    payload: { case: 'prompt', value: { text: 'x' } },
  }
  const begun = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  await using facade = await openFacade(
    {
      bodyMemory: 10_000_000,
      identity: {
        authenticate: ({ credential }) => ({
          principal: { organizationId: String(credential.value), workspaceId: 'wrk_1', kind: Principal_Kind.WORKSPACE },
        }),
      },
      session: {
        async promptSession({ messageId }) {
          begun.resolve()
          if (messageId === 'msg_first') await goOn.promise
          return { item } as never
        },
      },
    },
    { PORTICO_AUTH: 'bearer' },
  )
  const prompt = (id: string, size: number, key = 'sk-portico-one') => {
    const body = JSON.stringify({ id, text: 'x', files: [{ uri: `data:,${'x'.repeat(size)}` }] })
    const headers = { ...json, authorization: `Bearer ${key}` }
    return facade.fetch('/api/session/ses_1/prompt', { method: 'POST', headers, body })
  }
  const first = prompt('msg_first', 4_000_000)
  await begun.promise
  const refused = await prompt('msg_second', 4_000_000)
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '10'])
  assert.deepEqual(await refused.json(), {
    _tag: 'ServiceUnavailableError',
    message: 'Too many large request bodies arrived at the same time; try again',
    service: 'gateway',
  })
  assert.equal((await prompt('msg_small', 1_000_000)).status, 200)
  assert.equal((await prompt('msg_other', 4_000_000, 'sk-portico-other')).status, 200)
  goOn.resolve()
  assert.equal((await first).status, 200)
  assert.equal((await prompt('msg_third', 4_000_000)).status, 200)
})
