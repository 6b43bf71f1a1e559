// The cost of a page of messages, and of opening a SQLite store, with 100 and with 10,000 messages in a session. Usage:
// node bench/history.ts
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import type { Message } from '#gen/portico/session/v1/message_pb.js'
import { SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import { messageOf } from '#services/session/domain/message.ts'
import { newSession } from '#services/session/domain/new-session.ts'
import { systemClock } from '#shared/clock.ts'
import { median } from './harness/load.ts'

const W = 'wrk_0123456789abcdefghij'
const ROUNDS = 31
const SIZES = [100, 10_000] as const
const BATCH = 100

const folder = await mkdtemp(join(tmpdir(), 'portico-history-'))
try {
  const [small, large] = [await filled(SIZES[0]), await filled(SIZES[1])]
  const figures = new Map<string, [number[], number[]]>()
  // Alternating, so that other activity on the machine affects both.
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, path] of [small, large].entries()) {
      for (const [name, ms] of await costs(path)) {
        const kept = figures.get(name) ?? [[], []]
        kept[i as 0 | 1].push(ms)
        figures.set(name, kept)
      }
    }
  }
  for (const [name, kept] of figures) {
    const [few, many] = kept.map(median) as [number, number]
    const verdict = many / few <= 1.5 ? 'met' : 'MISSED'
    process.stdout.write(
      `${name.padEnd(34)} ${few.toFixed(2)} ms → ${many.toFixed(2)} ms, ratio ${(many / few).toFixed(2)}, goal 1.5: ${verdict}\n`,
    )
  }
} finally {
  await rm(folder, { recursive: true })
}

async function costs(path: string): Promise<[string, number][]> {
  const begun = performance.now()
  await using store = await openSqliteSessionStore({ path, clock: systemClock })
  const opened = performance.now()
  const page = async (order: Order, seq?: number): Promise<number> => {
    const began = performance.now()
    const anchor = seq === undefined ? {} : { anchor: { seq, direction: 'next' as const } }
    const found = await store.listMessages(W, 'ses_1', { limit: 50, order, ...anchor })
    if (found?.items.length !== 50) throw new Error('A page is short')
    return performance.now() - began
  }
  await page(Order.DESCENDING)
  return [
    ['open', opened - begun],
    ['newest 50 messages', await page(Order.DESCENDING)],
    ['oldest 50 messages', await page(Order.ASCENDING)],
    ['50 messages from the middle', await page(Order.ASCENDING, 50)],
  ]
}

async function filled(count: number): Promise<string> {
  const path = join(folder, `${count}.sqlite`)
  await using store = await openSqliteSessionStore({ path, clock: systemClock })
  const staged = await store.stageSession(W, 'ses_1', 'import')
  for (let from = 0; from < count; from += BATCH) {
    await store.appendStaged(
      staged,
      Array.from({ length: BATCH }, (_, i) => said(from + i)),
    )
  }
  const session = create(SessionSchema, { sessionId: 'ses_1', directory: '/project', projectId: 'global' })
  await store.commitStaged(staged, (...made) => newSession(session, ...made))
  return path
}

function said(i: number): Message {
  const text = `Message ${i}: ${'all kinds of words '.repeat(10)}`
  return messageOf({ messageId: `msg_${i}`, createTime: i }, 'user', { text })
}
