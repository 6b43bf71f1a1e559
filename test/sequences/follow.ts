import { setTimeout as sleep } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import type { Target } from './client.ts'

/** A durable event as the stream sends it. */
export interface WireEvent {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly durable: { readonly aggregateID: string; readonly seq: number }
  readonly data: { readonly sessionID: string; readonly [member: string]: unknown }
}

/**
 * Reads `GET /api/event` from the start until the world is disposed, across restarts, and keeps durable events by
 * session.
 */
export class Follower implements AsyncDisposable {
  readonly problems: string[] = []
  readonly #target: Target
  readonly #events = new Map<string, WireEvent[]>()
  readonly #seen = new Set<string>()
  readonly #end = new AbortController()
  readonly #connected = Promise.withResolvers<void>()
  readonly #work: Promise<void>
  #position: string | undefined

  constructor(target: Target) {
    this.#target = target
    this.#work = this.#follow()
  }

  /** Resolves once everything that will be written has arrived. */
  get connected(): Promise<void> {
    return this.#connected.promise
  }

  /** The session's events so far, in the order of the stream. */
  of(sessionId: string): readonly WireEvent[] {
    return this.#events.get(sessionId) ?? []
  }

  /** Drops them. */
  forget(sessionId: string): void {
    for (const { id } of this.of(sessionId)) this.#seen.delete(id)
    this.#events.delete(sessionId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort()
    await this.#work
  }

  async #follow(): Promise<void> {
    while (!this.#end.signal.aborted && !this.#target.dead) {
      const since = Date.now()
      try {
        await this.#read()
      } catch (error) {
        if (this.#end.signal.aborted || this.#target.dead) return
        if (!this.#target.disturbed(since)) this.problems.push(`the event stream broke: ${String(error)}`)
      }
      await sleep(20)
    }
  }

  async #read(): Promise<void> {
    const headers: Record<string, string> = this.#position === undefined ? {} : { 'last-event-id': this.#position }
    const since = Date.now()
    const answer = await fetch(`${this.#target.url()}/api/event`, { headers, signal: this.#end.signal })
    if (answer.status !== 200 || answer.body === null) throw new Error(`answered ${answer.status}`)
    const parser = createParser({
      onEvent: ({ id, data }) => {
        if (id !== undefined) this.#position = id
        this.#take(JSON.parse(data))
      },
    })
    const decoder = new TextDecoder()
    for await (const chunk of answer.body) parser.feed(decoder.decode(chunk, { stream: true }))
    if (!this.#target.disturbed(since)) throw new Error('it ended')
  }

  #take(event: WireEvent): void {
    if (event.type === 'server.connected') this.#connected.resolve()
    // A server that stops may be away for a moment before the stream breaks; the log reveals what is missing.
    if (event.type === 'server.resync' && !this.#target.disturbed(Date.now() - 1_000))
      this.problems.push('the event stream missed something')
    if (event.type === 'server.error')
      this.problems.push(
        ...(this.#target.disturbed(Date.now() - 1_000)
          ? []
          : [`the event stream ended: ${JSON.stringify(event.data)}`]),
      )
    if (event.durable === undefined) return
    const { aggregateID, seq } = event.durable
    const events = this.#events.get(aggregateID) ?? []
    this.#events.set(aggregateID, events)
    if (this.#seen.has(event.id)) this.problems.push(`${event.type} ${event.id} of ${aggregateID} came twice`)
    this.#seen.add(event.id)
    const last = events.at(-1)?.durable.seq ?? 0
    if (seq <= last) this.problems.push(`${event.type} (${seq}) of ${aggregateID} came after ${last}`)
    events.push(event)
  }
}
