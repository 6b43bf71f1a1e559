import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { fails, openSessionService, text } from '#test/support/session-service.ts'

interface Line {
  readonly level: number
  readonly sessionId?: string
  readonly reason?: string
  readonly msg: string
}

test('a run that fails leaves one warning, with its reason and nothing that anybody said', async () => {
  const log: string[] = []
  const logger = pino({ base: null }, { write: (line: string) => void log.push(line) })
  await using service = await openSessionService({ logger })
  await service.create()
  service.peers.turns.push(text('A secret'), fails('PROVIDER_REFUSED', { problem: 'A secret' }, 'A secret'))
  for (const id of ['msg_1', 'msg_2']) {
    await service.prompt('A secret', { messageId: id })
    await service.wait()
  }
  assert.equal(await service.outcome(), Outcome.FAILED)
  const lines = log.map((line) => JSON.parse(line) as Line).filter(({ level }) => level >= 40)
  assert.deepEqual(
    lines.map(({ level, sessionId, reason, msg }) => [level, sessionId, reason, msg]),
    [[40, 'ses_1', 'provider.refused', 'A run has failed']],
  )
  assert.ok(!log.join('').includes('A secret'))
})
