import { setTimeout as delay } from 'node:timers/promises'
import type { SessionChange } from '../ports.ts'
import { changesAfter, endOfLog } from './mongo-change-stream.ts'
import type { Collections } from './mongo-collections.ts'
import { SessionChanges } from './session-changes.ts'

const PIPELINE = [
  { $match: { operationType: { $in: ['insert', 'update', 'replace'] } } },
  { $project: { documentKey: 1 } },
]
/** How long a silent stream counts as alive, and how long to wait for a new one, in milliseconds. */
const PATIENCE_MS = 1_000
const AWAIT_MS = 500

/**
 * Notices of change from every process: a change stream on the sessions. While it gives no sign of life, everything
 * may have changed each second.
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
      if (!this.#alive) this.tell(undefined, undefined)
      this.#alive = false
    }, PATIENCE_MS)
    return this.#changes.listen(listener)
  }

  tell(workspace: string | undefined, sessionId: string | undefined): void {
    this.#changes.tell(workspace, sessionId)
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
        // Whatever it was: the timer tells meanwhile, and the next attempt starts from then.
        await delay(PATIENCE_MS, undefined, { signal }).catch(() => {})
      }
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { db, sessions } = this.#collections
    const start = await endOfLog(db, 'sessions')
    this.tell(undefined, undefined)
    for await (const { change } of changesAfter(sessions, PIPELINE, start, signal, AWAIT_MS)) {
      this.#alive = true
      if (change === undefined || !('documentKey' in change)) continue
      const key = String(change.documentKey?._id)
      const slash = key.indexOf('/')
      this.tell(key.slice(0, slash), key.slice(slash + 1))
    }
  }
}
