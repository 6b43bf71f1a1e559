import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Response } from 'express'
import { callOf } from '../call.ts'
import { EventWriter } from './event-writer.ts'
import { type Lifecycle, SHARE_OF_STOP } from './lifecycle.ts'
import { waitForDrain } from './respond.ts'

/** How many messages are taken in one turn of the event loop: a service in this process may have all of them ready. */
const MESSAGES_AT_ONCE = 16

/** How long a client waits before it comes back after a stream was ended by the server, in milliseconds. */
export const RETRY_MS = 1_000

/** What a stream of server-sent events is made from. */
export interface EventSource<T> {
  /** Messages of the RPC. The RPC must have been given the call's signal. */
  readonly messages: AsyncIterable<T>
  /**
   * The frames of a message, each ended by an empty line; empty for a message that says nothing to the client. Encoded
   * ones are written as they are, so that many clients can share a long one.
   */
  readonly frame: (message: T) => string | Buffer
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
   * The last frames of a stream that goes on for a while when the server stops, since another one cannot continue it.
   * Absent: it ends at once, with a comment and the time after which the client should come back.
   */
  readonly stop?: () => string
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
  const share = source.stop === undefined ? 0 : SHARE_OF_STOP
  const frames = source.stop ?? comeBack
  let writer: EventWriter | undefined
  let drain: Disposable | undefined
  let grace: NodeJS.Timeout | undefined
  const begin = (): EventWriter => {
    if (writer !== undefined) return writer
    call.endsByItself = true
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
      const frame = source.frame(next.value)
      if (typeof frame === 'string') events.add(frame)
      else await events.addLong(frame)
      if (events.full) await waitForDrain(response, call)
      else if (++taken % MESSAGES_AT_ONCE === 0) await nextTurn()
      if (call.over) return
    }
    if (!call.over) begin().finish(source.end?.() ?? '')
  } catch (error) {
    if (writer === undefined) throw error
    // In one process, services stop with the facade.
    const stopping = source.stop === undefined && source.lifecycle.state === 'draining'
    if (!call.over) writer.finish(stopping ? frames() : source.failed(error))
  } finally {
    clearInterval(heartbeat)
    clearTimeout(grace)
    drain?.[Symbol.dispose]()
    if (writer !== undefined) call.end()
  }
}

const comeBack = (): string => `: the server is stopping\nretry: ${RETRY_MS}\n\n`
