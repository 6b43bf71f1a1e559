import { setTimeout as delay } from 'node:timers/promises'
import { ALL_CHANGES, type ChangeKind } from '#services/session/domain/change.ts'
import type { SessionChange } from '#services/session/ports/session-store.ts'
import { randomText } from '#shared/ids.ts'
import { SessionChanges } from '../common/session-changes.ts'
import { changesAfter, endOfLog } from './change-stream.ts'
import type { Collections } from './collections.ts'

/**
 * Most writes of a run change nothing that anybody waits for, and set no notice; everybody waits for the removal of a
 * session.
 */
const PIPELINE = [
  {
    $match: {
      $or: [{ operationType: 'delete' }, { 'updateDescription.updatedFields.notice': { $type: 'string' } }],
    },
  },
  { $project: { operationType: 1, documentKey: 1, 'updateDescription.updatedFields.notice': 1 } },
]
/** How long a silent stream counts as alive, and how long to wait for a new one, in milliseconds. */
const PATIENCE_MS = 1_000
const AWAIT_MS = 500

/**
 * Notices of changes from every process: a change stream on the sessions. While it gives no sign of life, listeners are
 * notified each second that anything may have changed.
 */
export class MongoNotices implements AsyncDisposable {
  readonly #collections: Collections
  readonly #changes = new SessionChanges()
  readonly #controller = new AbortController()
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #alive = false

  constructor(collections: Collections) {
    this.#collections = collections
  }

  listen(listener: (change: SessionChange) => void): Disposable {
    this.#running ??= this.#run()
    this.#timer ??= setInterval(() => {
      if (!this.#alive) this.#changes.notifyAll()
      this.#alive = false
    }, PATIENCE_MS)
    return this.#changes.listen(listener)
  }

  /** Notifies the listeners of this process, before the server does. */
  notify(workspace: string, sessionId: string, kinds: readonly ChangeKind[]): void {
    this.#changes.notify(workspace, sessionId, kinds)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#controller.abort()
    clearInterval(this.#timer)
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#controller
    while (!signal.aborted) {
      try {
        await this.#follow(signal)
      } catch {
        // Whatever the reason: meanwhile the timer notifies, and the next attempt starts from then.
        await delay(PATIENCE_MS, undefined, { signal }).catch(() => {})
      }
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { db, sessions } = this.#collections
    const start = await endOfLog(db, 'sessions')
    this.#changes.notifyAll()
    for await (const { change } of changesAfter(sessions, PIPELINE, start, signal, AWAIT_MS)) {
      this.#alive = true
      if (change?.operationType !== 'update' && change?.operationType !== 'delete') continue
      const key = change.documentKey._id
      const slash = key.indexOf('/')
      const isUpdate = change.operationType === 'update'
      const kinds = isUpdate ? kindsOf(change.updateDescription.updatedFields?.notice ?? '') : ALL_CHANGES
      this.notify(key.slice(0, slash), key.slice(slash + 1), kinds)
    }
  }
}

/**
 * The text that reports a change: its kinds, and something unique, without which the field would not count as changed.
 */
export function noticeOf(kinds: readonly ChangeKind[]): string {
  return [randomText(8), ...kinds].join(' ')
}

function kindsOf(notice: string): ChangeKind[] {
  const words = notice.split(' ')
  return ALL_CHANGES.filter((kind) => words.includes(kind))
}
