import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { pino } from 'pino'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { afterKill } from '#test/support/after-kill.ts'
import { openSessionService } from '#test/support/session-service.ts'
import { fails, text } from '#test/support/session-turns.ts'

interface Line {
  readonly level: number
  readonly sessionId?: string
  readonly reason?: string
  readonly msg: string
}

test('a run that fails leaves one warning, with its reason and no content of the conversation', async () => {
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

test('a run that cannot read its history has failed once; its input waits for the next wake', async () => {
  await using first = await openSessionService()
  await first.create()
  first.peers.turns.push(text('Hi'))
  await first.prompt('Hello', { messageId: 'msg_1' })
  await first.wait()
  const directory = await afterKill(first)
  const file = new DatabaseSync(join(directory, 'session.sqlite'))
  assert.equal(file.prepare(`UPDATE messages SET data = '{' WHERE id = 'msg_1'`).run().changes, 1)
  file.close()
  const log: string[] = []
  const logger = pino({ base: null, level: 'error' }, { write: (line: string) => void log.push(line) })
  await using service = await openSessionService({ directory, logger, pollMs: 10 })
  await service.prompt('Again', { messageId: 'msg_2' })
  await service.wait()
  assert.equal(await service.outcome(), Outcome.FAILED)
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(log.length, 1)
  assert.deepEqual(service.peers.requests, [])
})
