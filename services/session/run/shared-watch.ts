import { AsyncLocalStorage } from 'node:async_hooks'
import { Broadcast } from '#shared/broadcast/broadcast.ts'
import { withStoreTime } from '#shared/telemetry/request-scope.ts'
import { pause } from './pause.ts'

export interface WatchedSession {
  readonly workspace: string
  readonly sessionId: string
}

interface SharedWatchOptions<R> {
  readonly read: (session: WatchedSession) => Promise<R>
  /** Calls `notify` whenever the result of a read may have changed. */
  readonly watch: (session: WatchedSession, notify: () => void) => Disposable
  /** The interval after which it is read again at the latest. */
  readonly pollMs: number
}

/**
 * Waits for a condition on a session that is read from the store; one read serves all who wait for the same session.
 */
export class SharedWatch<R> {
  readonly #options: SharedWatchOptions<R>
  readonly #reads = new Map<string, SharedReads<R>>()

  constructor(options: SharedWatchOptions<R>) {
    this.#options = options
  }

  /**
   * Reads now, and again whenever the session may have changed, until `answerOf` returns an answer. Reads that began
   * before the call do not count. Throws the error of a read, and the signal's reason.
   */
  async until<T>(
    session: WatchedSession,
    signal: AbortSignal,
    answerOf: (result: R) => T | undefined | Promise<T | undefined>,
  ): Promise<T> {
    signal.throwIfAborted()
    const key = `${session.workspace}\0${session.sessionId}`
    const reads = this.#reads.get(key) ?? new SharedReads(session, this.#options, () => this.#reads.delete(key))
    this.#reads.set(key, reads)
    const { begun, stream } = reads
    const release = stream.use()
    const reader = stream.read(undefined, ({ number }) => number > begun)
    const leave = (): void => reader.leave()
    signal.addEventListener('abort', leave)
    try {
      reads.due()
      for await (const { result } of reader) {
        const value = await result
        const answer = await withStoreTime(() => answerOf(value))
        if (answer !== undefined) return answer
      }
      signal.throwIfAborted()
      throw new Error('The reads of a session ended')
    } finally {
      signal.removeEventListener('abort', leave)
      leave()
      release()
    }
  }
}

/** A read; they are counted from 1. */
interface Read<R> {
  readonly number: number
  readonly result: Promise<R>
}

/** A shared read belongs to none of the waiting requests. */
const outsideAnyRequest = AsyncLocalStorage.snapshot()

/** Reads of one session, one after the other, for all who wait for it. */
class SharedReads<R> {
  /** Number of the last read that has begun. */
  begun = 0
  readonly stream: Broadcast<Read<R>>
  #due = Promise.withResolvers<void>()

  constructor(session: WatchedSession, { read, watch, pollMs }: SharedWatchOptions<R>, close: () => void) {
    const closing = new AbortController()
    const changes = watch(session, () => this.due())
    this.stream = new Broadcast<Read<R>>({
      source: this.#read(() => read(session), pollMs, closing.signal),
      // Only the newest counts.
      voids: () => () => true,
      kept: { items: 0, size: 0 },
      close: () => {
        close()
        closing.abort()
        changes[Symbol.dispose]()
      },
    })
  }

  /** Requests another read after the current one. */
  due(): void {
    this.#due.resolve()
  }

  async *#read(read: () => Promise<R>, pollMs: number, signal: AbortSignal): AsyncGenerator<Read<R>, undefined> {
    // Callers of the same turn share the first read.
    await this.#due.promise
    while (!signal.aborted) {
      this.#due = Promise.withResolvers()
      const number = ++this.begun
      const result = outsideAnyRequest(() => withStoreTime(read))
      await result.catch(() => {})
      yield { number, result }
      await dueOr(this.#due.promise, pollMs, signal)
    }
  }
}

/** Waits until the next read is due, but not longer than until the next poll. */
async function dueOr(due: Promise<void>, pollMs: number, signal: AbortSignal): Promise<void> {
  const woken = new AbortController()
  const poll = pause(pollMs, AbortSignal.any([signal, woken.signal])).catch(() => {})
  await Promise.race([due, poll])
  woken.abort()
}
