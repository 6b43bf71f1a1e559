import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { blobIn, blobsOf, messageOf } from '#services/session/domain/message.ts'
import { forkSession } from '#services/session/run/lifetime/fork-session.ts'
import { holdingBlobs } from '#services/session/run/lifetime/holding-blobs.ts'
import { systemClock } from '#shared/clock.ts'
import { type BlobFixture, fileOf, PAUSE_MS, promptWith, sweepAll, W } from './blob-store.support.ts'
import { finishRemovals, fromStaged } from './session-store.removal.ts'
import { listed } from './session-store.support.ts'

const WORKERS = 3
const ROUNDS = 20
/** More than are in use at most times, so that the next user of one comes just after the last one has gone. */
const CONTENTS = 6

/** What forks of root sessions need beside a store. */
const FORKING = { catalog: {} as never, remover: { wake() {} }, clock: systemClock }
const CALL = { signal: new AbortController().signal } as never

/** Forks a session, as the service does. */
export async function fork({ sessions }: BlobFixture, sessionId: string, id: string): Promise<void> {
  await forkSession({ store: sessions, ...FORKING } as never, { workspace: W, sessionId, id, before: undefined }, CALL)
}

/** Imports a session with a message with a file, as the service does. */
async function importWith({ store, sessions }: BlobFixture, id: string, data: Buffer): Promise<void> {
  await holdingBlobs(store, async (hold) => {
    const files = [fileOf(await store.put(W, data, hold))]
    await delay(PAUSE_MS)
    const message = messageOf({ messageId: `msg_${id}`, createTime: 1 }, 'user', { files })
    const staged = await sessions.stageSession(W, id, 'import')
    await sessions.appendStaged(staged, [message])
    await sessions.commitStaged(staged, fromStaged(id))
  })
}

/**
 * Prompts, imports, forks, removals and sweeps at once, with few contents, each of which is constantly losing its last
 * user: in the end, every message has its content, and nothing else is left.
 */
export async function race(fixture: BlobFixture): Promise<void> {
  const { store, sessions } = fixture
  const contents = Array.from({ length: CONTENTS }, (_, i) => Buffer.from(`content ${i}`))
  let working = true
  const allTheTime = async (work: () => Promise<unknown>): Promise<void> => {
    for (; working; await setImmediate()) await work()
  }
  const sweeping = Promise.all([allTheTime(() => finishRemovals(sessions)), allTheTime(() => store.sweep())])
  let forks = 0
  const round = async (worker: number, n: number): Promise<void> => {
    const content = (place: number) => contents[place % CONTENTS] as Buffer
    const id = `ses_${worker}_${n}`
    const former = `ses_${worker}_${n - 1}`
    await importWith(fixture, id, content(worker + n))
    // All put the same content at about the same time, some without using it, and release it one after the other.
    const refused = holdingBlobs(store, (hold) => store.put(W, content(5 * n), hold))
    const prompted = promptWith(fixture, id, `msg_prompt_${worker}_${n}`, content(5 * n))
    const forked = fork(fixture, former, `${former}_fork`).then(
      () => forks++,
      // It was removed first, or does not exist.
      () => {},
    )
    if (n % 3 === 0) await forked
    if (n > 0) await sessions.removeSession(W, former)
    await forked
    await checkContents(fixture, `${former}_fork`)
    await sessions.removeSession(W, `${former}_fork`).catch(() => {})
    await Promise.all([refused, prompted])
    await checkContents(fixture, id)
  }
  const workers = Array.from({ length: WORKERS }, async (_, worker) => {
    for (let n = 0; n < ROUNDS; n++) await round(worker, n)
  })
  try {
    await Promise.all(workers)
  } finally {
    working = false
    await sweeping
  }
  await finishRemovals(sessions)
  await sweepAll(fixture)
  assert.ok(forks >= WORKERS, `${forks} forks`)
  const left = await listed(sessions, {}, W)
  assert.ok(left.length >= WORKERS, 'the last import of each')
  for (const { sessionId } of left) {
    await checkContents(fixture, sessionId)
    await sessions.removeSession(W, sessionId)
  }
  await finishRemovals(sessions)
  await sweepAll(fixture)
  for (const content of contents) {
    const hash = createHash('sha256').update(content).digest('hex')
    assert.equal(await store.get(W, hash), undefined)
  }
}

/** Everything that the messages and the inbox of a session refer to exists. */
async function checkContents({ store, sessions }: BlobFixture, sessionId: string): Promise<void> {
  const page = await sessions.listMessages(W, sessionId, { limit: 10, order: Order.ASCENDING })
  if (page === undefined) return
  const said = page.items.map(({ message }) => message)
  const waiting = await sessions.inspect(
    { workspace: W, sessionId },
    (reads) => reads.inbox(0, 10),
    (_, items) => items.flatMap(({ item: { payload } }) => (payload.case === 'prompt' ? payload.value.files : [])),
  )
  for (const { hash } of [...said.flatMap(blobsOf), ...waiting.flatMap(blobIn)]) {
    assert.ok(await store.get(W, hash), `content of ${sessionId}`)
  }
}
