import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  test(`${name}: a response may take as long as its generation, whole or streamed: only the client ends it earlier`, async () => {
    const deadlines: (number | undefined)[] = []
    await using facade = await openFacade(
      {
        inference: {
          generate(_, { timeoutMs }) {
            deadlines.push(timeoutMs())
            return { generation: { model: 'portico/echo', providerId: 'portico', reason: 1 } }
          },
          async *streamGenerate(_, { timeoutMs }) {
            deadlines.push(timeoutMs())
            yield { events: [{ event: { case: 'started', value: { model: 'portico/echo' } } }] }
            yield { events: [{ event: { case: 'finished', value: { reason: 1 } } }] }
          },
        },
      },
      {},
      connect,
    )
    const headers = { authorization: `Bearer ${TEST_KEYS.workspace}`, 'content-type': 'application/json' }
    for (const stream of [false, true]) {
      const body = JSON.stringify({ model: 'portico/echo', input: 'Hello', stream })
      const answer = await facade.fetch('/api/v1/responses', { method: 'POST', headers, body })
      assert.equal(answer.status, 200, await answer.text())
    }
    assert.deepEqual(deadlines, [undefined, undefined])
  })
})
