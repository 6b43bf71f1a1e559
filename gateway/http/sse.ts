import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Response } from 'express'
import { callOf } from '../call.ts'
import { drained } from './drained.ts'
import type { Lifecycle } from './lifecycle.ts'

/** How much text is buffered before it is written, in characters. */
const COLLECTED_LIMIT = 16_384

/** How many messages are taken in one turn of the event loop: a service in this process may have all of them ready. */
const MESSAGES_AT_ONCE = 16

/** How long a client waits before it comes back after a stream was ended by the server, in milliseconds. */
export const RETRY_MS = 1_000

/** What a stream of server-sent events is made from. */
export interface EventSource<T> {
  /** Messages of the RPC. The RPC must have been given the call's signal. */
  readonly messages: AsyncIterable<T>
  /** The frames of a message, each ended by an empty line; empty for a message that says nothing to the client. */
  readonly frame: (message: T) => string
  /** The last frames, after the last message. */
  readonly end?: () => string
  /** The last frames when the RPC fails after the first message. */
  readonly failed: (error: unknown) => string
  /** Comment that is sent from time to time, so that nobody takes the connection for dead. */
  readonly heartbeat: string
  /** Milliseconds between two heartbeats. */
  readonly heartbeatMs: number
  /** Called with each heartbeat; an error that it returns ends the stream. */
  readonly check?: (() => Promise<unknown>) | undefined
  /**
   * How the stream ends when the server stops: after which share of the time that the server has left, and with which
   * last frames. Absent: it ends at once, with a comment and the time after which the client should come back.
   */
  readonly stop?: { readonly share: number; readonly frames: () => string }
  readonly lifecycle: Lifecycle
}

const HEADERS = [
  'content-type',
  'text/event-stream',
  'cache-control',
  'no-cache, no-transform',
  'x-accel-buffering',
  'no',
  'x-content-type-options',
  'nosniff',
] as const

/** Answers HEAD with the headers of GET, without opening the stream, which would never end. */
export function sendEventHeaders(response: Response): void {
  response.writeHead(200, [...HEADERS, ...callOf(response).headers]).end()
}

/**
 * Sends an RPC stream as server-sent events. Headers go out after the first message, or with the first heartbeat while
 * there is none: an RPC that fails before is answered as an ordinary error. What comes in one turn of the event loop is
 * written at once, and the RPC is not pulled from while the client is slow. A client that hangs up aborts the RPC.
 */
export async function sendEvents<T>(response: Response, source: EventSource<T>): Promise<void> {
  const call = callOf(response)
  const iterator = source.messages[Symbol.asyncIterator]()
  const { share, frames } = source.stop ?? COME_BACK
  let writer: EventWriter | undefined
  let drain: Disposable | undefined
  let grace: NodeJS.Timeout | undefined
  const begin = (): EventWriter => {
    if (writer !== undefined) return writer
    response.writeHead(200, [...HEADERS, ...call.headers])
    writer = new EventWriter(response)
    drain = source.lifecycle.onDrain((drainMs) => {
      grace = setTimeout(() => {
        writer?.finish(frames())
        call.end()
      }, share * drainMs)
    })
    return writer
  }
  const check = async (events: EventWriter): Promise<void> => {
    const error = await source.check?.()
    if (error === undefined || call.over) return
    events.finish(source.failed(error))
    call.end()
  }
  const heartbeat = setInterval(() => {
    if (call.over) return
    const events = begin()
    events.beat(`: ${source.heartbeat}\n\n`)
    void check(events)
  }, source.heartbeatMs)
  try {
    let taken = 0
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      if (call.over) return
      const events = begin()
      events.add(source.frame(next.value))
      if (events.full) await drained(response, call)
      else if (++taken % MESSAGES_AT_ONCE === 0) await nextTurn()
      if (call.over) return
    }
    if (!call.over) begin().finish(source.end?.() ?? '')
  } catch (error) {
    if (writer === undefined) throw error
    // In one process the services stop together with the facade.
    const stopping = source.stop === undefined && source.lifecycle.state === 'draining'
    if (!call.over) writer.finish(stopping ? frames() : source.failed(error))
  } finally {
    clearInterval(heartbeat)
    clearTimeout(grace)
    drain?.[Symbol.dispose]()
    if (writer !== undefined) call.end()
  }
}

const LAST_CHUNK = '0\r\n\r\n'

const COME_BACK = { share: 0, frames: () => `: the server is stopping\nretry: ${RETRY_MS}\n\n` }

/**
 * Collects the text of one turn of the event loop and writes it at once: in the first turn together with the headers.
 * It frames chunks itself (RFC 9112 section 7.1) where node:http would, which would write four pieces for each, at
 * nearly twice the cost.
 */
class EventWriter {
  readonly #response: Response
  readonly #chunked: boolean
  #collected = ''
  #flush: NodeJS.Immediate | undefined
  #slow = false

  constructor(response: Response) {
    this.#response = response
    this.#chunked = response.chunkedEncoding
    response.chunkedEncoding = false
    response.on('drain', () => {
      this.#slow = false
    })
    this.#flush = setImmediate(() => this.#write())
  }

  add(text: string): void {
    if (text === '') return
    this.#collected += text
    if (this.#collected.length >= COLLECTED_LIMIT) this.#write()
    else this.#flush ??= setImmediate(() => this.#write())
  }

  /** Whether the client has not taken what was written yet. */
  get full(): boolean {
    return this.#slow
  }

  /** Sends a comment unless something waits to be taken: then the connection is not idle. */
  beat(comment: string): void {
    if (!this.#slow) this.add(comment)
  }

  finish(text: string): void {
    if (this.#response.writableEnded) return
    this.#collected += text
    if (this.#collected !== '') this.#write()
    this.#response.end(this.#chunked ? LAST_CHUNK : undefined)
  }

  #write(): void {
    if (this.#flush !== undefined) clearImmediate(this.#flush)
    this.#flush = undefined
    if (this.#response.destroyed || this.#response.writableEnded) return
    if (this.#collected === '') {
      // The first message produced no frame, but the client has to know that the stream has begun.
      this.#response.flushHeaders()
      return
    }
    const text = this.#collected
    this.#collected = ''
    const bytes = Buffer.byteLength(text)
    // Without other letters than ASCII's, both encodings are the same, and Latin-1 is the cheaper one.
    const encoding = bytes === text.length ? 'latin1' : 'utf8'
    this.#slow = !this.#response.write(this.#chunked ? `${bytes.toString(16)}\r\n${text}\r\n` : text, encoding)
  }
}
