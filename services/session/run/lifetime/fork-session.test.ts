import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import { systemClock } from '#shared/clock.ts'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { newSession, W } from '#test/contract/session-store.support.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { forkSession } from './fork-session.ts'

test('a store that goes away during a fork keeps nobody waiting for its leftovers', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-fork-'))
  context.after(() => rm(directory, { recursive: true }))
  await using store = withUseCases(
    await openSqliteSessionStore({ path: join(directory, 'session.sqlite'), clock: systemClock }),
  )
  await store.createSession(W, newSession())
  await store.selectAgent(W, 'ses_1', 'plan')
  const away = storeUnavailable('away')
  context.mock.method(store, 'appendStaged', () => Promise.reject(away))
  const hangs = context.mock.method(store, 'giveUpStaged', () => new Promise(() => {}))
  const given = { store, clock: systemClock, remover: { wake: () => {} } } as unknown as Parameters<
    typeof forkSession
  >[0]
  const call = { signal: AbortSignal.timeout(5_000) } as PeerCall
  const fork = { workspace: W, sessionId: 'ses_1', id: 'ses_2', before: undefined }
  await assert.rejects(forkSession(given, fork, call), away)
  assert.equal(hangs.mock.callCount(), 1)
})
