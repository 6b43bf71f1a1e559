import assert from 'node:assert/strict'
import test from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { openFacade } from '#test/support/facade.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  for (const path of ['/api/session/ses_1/wait', '/api/experimental/session/ses_1/wait']) {
    test(`${name}: ${path} goes on, round after round, until the session is idle`, async () => {
      let rounds = 0
      const waitSession = (_: unknown, { timeoutMs }: { readonly timeoutMs: () => number | undefined }) => {
        rounds += 1
        assert.ok((timeoutMs() ?? Number.POSITIVE_INFINITY) <= 60_000, 'a round has an end')
        if (rounds < 4) throw new ConnectError('The deadline has passed', Code.DeadlineExceeded)
        return {}
      }
      await using facade = await openFacade({ session: { waitSession } }, {}, connect)
      const answer = await facade.fetch(path, { method: 'POST' })
      assert.deepEqual([answer.status, await answer.text(), rounds], [204, '', 4])
    })
  }
})
