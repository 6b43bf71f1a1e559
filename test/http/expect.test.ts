import assert from 'node:assert/strict'
import test from 'node:test'
import { openFacade, TEST_KEYS, type TestFacade } from '#test/support/facade.ts'
import { sendBytes, type WireAnswer } from '#test/support/raw-socket.ts'
import { stubSession } from '#test/support/stub-session.ts'

const LENGTH = 16
const CONTINUE = /^HTTP\/1\.1 100 Continue\r\n\r\n/

/** Sends the head of a request that withholds its body, or the body with it, and reads until the server closes. */
function send(facade: TestFacade, path: string, headers: readonly string[], body = ''): Promise<WireAnswer> {
  const head = [`POST ${path} HTTP/1.1`, `Host: ${new URL(facade.url).host}`, 'Expect: 100-Continue', ...headers]
  return sendBytes(facade.url, `${head.join('\r\n')}\r\n\r\n${body}`)
}

const json = ['Content-Type: application/json', `Content-Length: ${LENGTH}`]
const right = `Authorization: Bearer ${TEST_KEYS.workspace}`
const opened = (env: Record<string, string> = {}): Promise<TestFacade> =>
  openFacade({ session: { createSession: ({ sessionId }) => ({ session: stubSession({ sessionId }) }) } }, env)

test('100 Continue is sent when the caller is known and the size fits, and the body is then answered', async () => {
  await using facade = await opened({ PORTICO_AUTH: 'bearer' })
  const answer = await send(facade, '/api/session', [...json, right, 'Connection: close'], '{"title":"abcd"}')
  assert.match(`${answer.head}\r\n\r\n`, CONTINUE)
  assert.match(answer.body, /^HTTP\/1\.1 200/, 'after the one interim answer comes the last')
})

test('401, 404, 405, 413 and 415 come without 100 Continue, and the connection is closed', async () => {
  await using facade = await opened({ PORTICO_AUTH: 'bearer', PORTICO_BODY_LIMIT_BYTES: '1024' })
  const wrong = 'Authorization: Bearer sk-portico-wrong'
  const large = ['Content-Type: application/json', 'Content-Length: 1025', right]
  const refusals: [string, readonly string[], number][] = [
    ['/api/session', json, 401],
    ['/api/v1/responses', json, 401],
    ['/api/session', [...json, wrong], 401],
    ['/api/v1/responses', [...json, wrong], 401],
    ['/api/nothing', [...json, right], 404],
    ['/api/info', [...json, right], 405],
    ['/api/session', large, 413],
    ['/api/session', ['Content-Type: text/plain', `Content-Length: ${LENGTH}`, right], 415],
  ]
  for (const [path, headers, status] of refusals) {
    const answer = await send(facade, path, headers)
    assert.equal(answer.status, status, `${path}: ${answer.head}`)
    assert.match(answer.head, /^connection: close$/im, path)
  }
})
