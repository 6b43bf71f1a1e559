import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import test from 'node:test'
import { openFacade, TEST_KEYS, type TestFacade } from '#test/support/facade.ts'
import { generationError } from '#test/support/gateway-error.ts'
import { sendBytes } from '#test/support/raw-socket.ts'
import { stubSession } from '#test/support/stub-session.ts'
import { waitFor } from '#test/support/wait-until.ts'

const MEMBERS = 500_000
const many = (count: number, item: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join()
const instance = (message: string) => ({ _tag: 'InvalidRequestError', message, kind: 'Payload' })
const gateway = (problem: string) => generationError(400, `Invalid request parameters: ${problem}`)

/** A facade that counts what reaches the services. */
async function counting(): Promise<TestFacade & { readonly through: () => number }> {
  let calls = 0
  const facade = await openFacade({
    session: {
      createSession: ({ sessionId }) => {
        calls++
        return { session: stubSession({ sessionId }) }
      },
    },
    inference: {
      generate: () => {
        calls++
        return { generation: { model: 'a/b', reason: 1 } }
      },
    },
  })
  return Object.assign(facade, { through: () => calls })
}

const post = (facade: TestFacade, path: string, body: string): Promise<Response> =>
  facade.fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TEST_KEYS.workspace}` },
    body,
  })

const ask = (unknown: string): string => `{"model":"a/b","input":"x","unknown":${unknown}}`

test('500,000 members and 100 levels are read, whatever they are; one more is 400 and reaches no service', async () => {
  await using facade = await counting()
  const inner = MEMBERS - 3
  const most = [
    `[${many(inner, () => '0')}]`,
    `[${many(inner, () => '[]')}]`,
    `[${many(inner, (i) => `"\\u00e4${i}"`)}]`,
    `[${many((inner - 1) / 2, (i) => `{"k${i}":1}`)},{}]`,
    `{${many(24, (i) => `"w${i}":{${many(20_000, (j) => `"k${i}_${j}":1`)}}`)}}`,
    '['.repeat(99) + ']'.repeat(99),
  ]
  for (const body of most)
    assert.equal((await post(facade, '/api/v1/responses', ask(body))).status, 200, body.slice(0, 40))
  assert.equal(facade.through(), most.length)
  const tooMany = `the JSON has more than ${MEMBERS} members and items`
  const beyond: [string, string][] = [
    [`[${many(inner + 1, () => '0')}]`, tooMany],
    [`[${many(2_000_000, () => '{}')}]`, tooMany],
    [`[${many(250_000, (i) => `{"k${i}":1}`)}]`, tooMany],
    ['['.repeat(100) + ']'.repeat(100), 'the JSON is nested more than 100 levels deep'],
    [`${'{"a":'.repeat(5_000_000)}`, 'the JSON is nested more than 100 levels deep'],
    ['7'.repeat(31_000_000), 'the JSON has a number or word of more than 1000 characters'],
    [`[${many(10_001, () => '0')},${'x'.repeat(1_001)}]`, 'the JSON has a number or word of more than 1000 characters'],
    [`{${many(20_001, (i) => `"k${i}":1`)}}`, 'the JSON has an object with more than 20000 members'],
  ]
  for (const [body, problem] of beyond) {
    const answer = await post(facade, '/api/v1/responses', ask(body))
    assert.equal(answer.status, 400, body.slice(0, 40))
    assert.deepEqual(await answer.json(), gateway(problem))
  }
  const answer = await post(facade, '/api/session', `{"metadata":{"a":[${many(500_000, () => '0')}]}}`)
  assert.equal(answer.status, 400)
  assert.deepEqual(await answer.json(), instance(`The JSON has more than ${MEMBERS} members and items`))
  assert.equal(facade.through(), most.length)
})

test('a body may consist of one string', async () => {
  await using facade = await counting()
  for (const unit of ['QUJD', '\\"', '\\u00e4', '😀']) {
    const body = ask(`"${unit.repeat(Math.floor(30_000_000 / Buffer.byteLength(unit)))}"`)
    assert.equal((await post(facade, '/api/v1/responses', body)).status, 200, unit)
  }
})

test('a body is refused where it passes a limit, not where it ends', async () => {
  await using facade = await counting()
  const head = `POST /api/session HTTP/1.1\r\nHost: ${new URL(facade.url).host}\r\nContent-Type: application/json\r\n`
  const { status, body } = await sendBytes(
    facade.url,
    `${head}Connection: close\r\nContent-Length: 1000000\r\n\r\n${'['.repeat(101)}`,
  )
  assert.equal(status, 400)
  assert.deepEqual(JSON.parse(body), instance('The JSON is nested more than 100 levels deep'))
})

test('a client that hangs up while its body arrives, or once it has, leaves nothing running', async () => {
  const calls = { begun: 0, aborted: 0 }
  await using facade = await openFacade({
    inference: {
      generate: async (_request, { signal }) => {
        calls.begun++
        await once(signal, 'abort')
        calls.aborted++
        throw signal.reason
      },
    },
  })
  const body = ask(`[${many(200_000, (i) => `{"k${i}":1}`)}]`)
  const head = [
    'POST /api/v1/responses HTTP/1.1',
    `Host: ${new URL(facade.url).host}`,
    `Authorization: Bearer ${TEST_KEYS.workspace}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}\r\n\r\n`,
  ].join('\r\n')
  for (const part of [body.length / 2, body.length]) {
    const before = facade.log.length
    const socket = connect(facade.listener.port, '127.0.0.1')
    await once(socket, 'connect')
    await new Promise<void>((resolve) => socket.write(head + body.slice(0, part), () => resolve()))
    socket.destroy()
    await waitFor('the request to be over', () =>
      facade.log.slice(before).some(({ msg, cut }) => msg === 'request' && cut === true),
    )
    assert.equal((await facade.fetch('/livez')).status, 200)
    if (part < body.length) assert.equal(calls.begun, 0)
  }
  await waitFor('the calls to be aborted', () => calls.aborted === calls.begun)
})
