import assert from 'node:assert/strict'
import type { TailItem } from '#services/session/ports/event-log.ts'
import type { UseCases } from '#test/support/session-use-cases.ts'
import { W } from './session-store.support.ts'

/** Reads a tail item by item. */
export class TailReader implements AsyncDisposable {
  readonly #controller = new AbortController()
  readonly #iterator: AsyncIterator<TailItem>

  constructor(store: UseCases, position?: string, workspace = W) {
    this.#iterator = store.tailEvents(workspace, position, this.#controller.signal)[Symbol.asyncIterator]()
  }

  /** The next item, skipping the notice that the reader has caught up. */
  async next(): Promise<IteratorResult<TailItem>> {
    const next = await this.#iterator.next()
    return next.value?.type === 'caught-up' ? this.next() : next
  }

  /** Reads until the reader has caught up; returns the events before that, and the position. */
  async caughtUp() {
    const events = []
    for (;;) {
      const { value } = await this.#iterator.next()
      if (value?.type === 'caught-up') return { events, position: value.position }
      assert.equal(value?.type, 'event')
      events.push(value.event)
    }
  }

  /** Reads until that many events have come; refuses other items. */
  async events(count: number) {
    const events = []
    while (events.length < count) {
      const { value } = await this.next()
      assert.equal(value?.type, 'event')
      events.push(value.event)
    }
    return events
  }

  /** Reads the next item, which has to be of that type. */
  async expect<T extends TailItem['type']>(type: T): Promise<Extract<TailItem, { readonly type: T }>> {
    const { value } = await this.next()
    assert.equal(value?.type, type)
    return value as Extract<TailItem, { readonly type: T }>
  }

  abort(): void {
    this.#controller.abort()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.abort()
    await this.#iterator.return?.()
  }
}

/** A reader that has seen `ready`. */
export async function tail(store: UseCases, position?: string, workspace = W): Promise<TailReader> {
  const reader = new TailReader(store, position, workspace)
  await reader.expect('ready')
  return reader
}

/** The events of the workspace that `write` causes. */
export async function eventsOf(store: UseCases, count: number, write: () => Promise<unknown>) {
  await using reader = await tail(store)
  await write()
  return await reader.events(count)
}
