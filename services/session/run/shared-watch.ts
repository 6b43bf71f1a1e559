import { AsyncLocalStorage } from 'node:async_hooks'
import { withStoreTime } from '#shared/telemetry/request-scope.ts'
import { pause } from './pause.ts'

/** One session. */
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
  readonly #readers = new Map<string, Reader<R>>()

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
    answerOf: (found: R) => T | undefined | Promise<T | undefined>,
  ): Promise<T> {
    signal.throwIfAborted()
    const key = `${session.workspace}\0${session.sessionId}`
    const reader = this.#readers.get(key) ?? new Reader(session, this.#options)
    this.#readers.set(key, reader)
    reader.users++
    try {
      let seen = reader.begun
      reader.due()
      for (;;) {
        const { number, found } = await unlessAborted(reader.after(seen), signal)
        seen = number
        const value = await found
        const answer = await withStoreTime(() => answerOf(value))
        if (answer !== undefined) return answer
      }
    } finally {
      if (--reader.users === 0) {
        this.#readers.delete(key)
        reader[Symbol.dispose]()
      }
    }
  }
}

/** A read; they are counted from 1. */
interface Read<R> {
  readonly number: number
  readonly found: Promise<R>
}

/** A shared read belongs to none of the waiting requests. */
const outsideAnyRequest = AsyncLocalStorage.snapshot()

/** Reads of one session, one after the other, for all who wait for it. */
class Reader<R> implements Disposable {
  users = 0
  /** Number of the last read that has begun. */
  begun = 0
  #last: Read<R> | undefined
  #ended = Promise.withResolvers<void>()
  #due = Promise.withResolvers<void>()
  readonly #closing = new AbortController()
  readonly #changes: Disposable

  constructor(session: WatchedSession, { read, watch, pollMs }: SharedWatchOptions<R>) {
    this.#changes = watch(session, () => this.due())
    void outsideAnyRequest(() => this.#run(() => read(session), pollMs))
  }

  /** Requests another read after the current one. */
  due(): void {
    this.#due.resolve()
  }

  /** The last read, once there is one after that number. */
  async after(number: number): Promise<Read<R>> {
    for (;;) {
      if (this.#last !== undefined && this.#last.number > number) return this.#last
      await this.#ended.promise
    }
  }

  [Symbol.dispose](): void {
    this.#closing.abort()
    this.#changes[Symbol.dispose]()
  }

  async #run(read: () => Promise<R>, pollMs: number): Promise<void> {
    const { signal } = this.#closing
    // Callers of the same turn share the first read.
    await this.#due.promise
    while (!signal.aborted) {
      this.#due = Promise.withResolvers()
      const number = ++this.begun
      const found = withStoreTime(read)
      await found.catch(() => {})
      this.#last = { number, found }
      this.#ended.resolve()
      this.#ended = Promise.withResolvers()
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

/** Throws the signal's reason. */
function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
