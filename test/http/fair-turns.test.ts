import assert from 'node:assert/strict'
import test from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'
import { openPortico } from '#test/support/portico.ts'
import { ask } from '#test/support/responses.ts'

/** No more than this many messages, or rounds, from memory may come before another request is answered. */
const MOST = 2_000

/** A facade, and whether another request, made when work begins, is answered. */
async function openBusy() {
  let answered = false
  let asked = false
  const facade = await openFacade({
    inference: {
      async *streamGenerate() {
        yield event('started', { model: 'portico/echo' })
        yield event('partStarted', { index: 0, kind: 1 })
        for (let i = 0; i < MOST && !isAnswered(); i++) yield event('partExtended', { index: 0, text: 'word ' })
        yield event('partEnded', { index: 0, part: { part: { case: 'text', value: { text: 'word' } } } })
        yield event('finished', { reason: 1 })
      },
    },
    session: {
      waitSession() {
        if (isAnswered()) return {}
        throw new ConnectError('The deadline has passed', Code.DeadlineExceeded)
      },
    },
  })
  function isAnswered(): boolean {
    if (!asked) {
      asked = true
      void facade.fetch('/healthz').then(() => {
        answered = true
      })
    }
    return answered
  }
  return { facade, answered: () => answered }
}

const event = (name: string, value: object) => ({ events: [{ event: { case: name, value } }] }) as never

test('an answer from memory leaves others their turn', async () => {
  const { facade, answered } = await openBusy()
  await using _ = facade
  const response = await facade.fetch('/api/v1/responses', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TEST_KEYS.workspace}` },
    body: JSON.stringify({ model: 'portico/echo', input: 'Hello', stream: true }),
  })
  assert.equal(response.status, 200)
  const words = (await response.text()).split('word ').length
  assert.ok(answered())
  assert.ok(words < MOST, `${words} words before another request was answered`)
})

test('a long answer that is made whole leaves others their turn', async () => {
  await using portico = await openPortico()
  let answered = false
  let others = 0
  const whole = ask(portico, { model: 'portico/echo', input: '/length 100000' }).finally(() => {
    answered = true
  })
  for (; !answered; others++) assert.equal((await portico.fetch('/livez')).status, 200)
  assert.equal((await whole).usage.output_tokens, 100_000)
  // The first ones may come before or after the answer has begun.
  assert.ok(others > 20, `${others} other requests were answered meanwhile`)
})

test('a session service that ends each round at once is not called without a pause', async () => {
  const { facade, answered } = await openBusy()
  await using _ = facade
  const response = await facade.fetch('/api/session/ses_1/wait', { method: 'POST' })
  assert.deepEqual([response.status, answered()], [204, true])
})
