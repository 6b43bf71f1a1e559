import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Response } from 'express'
import { type Call, callOf } from '../call.ts'
import { withRetryAfter } from '../errors/public-error.ts'

const TYPE = ['content-type', 'application/json; charset=utf-8', 'x-content-type-options', 'nosniff'] as const

/** Headers of a JSON answer that must not be cached; names and values alternate. */
export const JSON_HEADERS = [...TYPE, 'cache-control', 'no-store'] as const

/**
 * Sends a JSON answer. The body is a plain object made by a mapper, never a protobuf message. `headers` are names and
 * values in turn; every 503 says when to come back.
 */
export function sendJson(response: Response, status: number, body: unknown, headers: readonly string[] = []): void {
  const text = JSON.stringify(body)
  const own = status === 503 ? withRetryAfter(headers) : headers
  const { headers: ofCall, maxAge } = callOf(response)
  const kept = status === 200 && maxAge !== undefined
  const json = kept ? [...TYPE, 'cache-control', `public, max-age=${maxAge}`] : JSON_HEADERS
  response.writeHead(status, [...json, 'content-length', String(Buffer.byteLength(text)), ...ofCall, ...own])
  response.end(text)
}

/** Sends 204. */
export function sendNothing(response: Response): void {
  response.writeHead(204, callOf(response).headers)
  response.end()
}

/**
 * Sends white space, which JSON may begin with, while a client waits for a JSON answer: the first after so many
 * milliseconds, with the headers, and more in the same intervals. Disposing it ends that.
 */
export class Padding implements Disposable {
  readonly #response: Response
  readonly #timer: NodeJS.Timeout

  constructor(response: Response, everyMs: number) {
    this.#response = response
    this.#timer = setInterval(() => this.#pad(), everyMs)
  }

  /** Whether something was sent; then the status is 200, even if the answer is an error. */
  get begun(): boolean {
    return this.#response.headersSent
  }

  /** Sends the answer itself, after white space. */
  finish(body: unknown): void {
    if (!this.#response.writableEnded) this.#response.end(JSON.stringify(body))
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #pad(): void {
    const call = callOf(this.#response)
    if (call.over || this.#response.writableEnded) return
    if (!this.begun) this.#response.writeHead(200, [...JSON_HEADERS, ...call.headers])
    this.#response.write('\n')
  }
}

/** Text is buffered up to about this many characters before it is written. */
const COLLECTED = 65_536

/**
 * Sends a JSON answer whose text is made piece by piece, as the client takes it. Headers go out with the first text
 * that is written: a failure before that is answered as an ordinary error. A later one cuts the connection off, so that
 * nobody takes what was sent for the whole. A client that hangs up aborts the call.
 */
export async function sendPieces(response: Response, pieces: AsyncIterable<string>): Promise<void> {
  const call = callOf(response)
  const iterator = pieces[Symbol.asyncIterator]()
  try {
    let next = await iterator.next()
    if (response.req.method === 'HEAD') next = { done: true, value: undefined }
    let collected = ''
    for (; next.done !== true; next = await iterator.next()) {
      if (call.over) return
      collected += next.value
      if (collected.length < COLLECTED) continue
      begin(response)
      // A service in this process may have everything ready at once; yield to other work in between.
      if (response.write(collected)) await nextTurn()
      else await waitForDrain(response, call)
      collected = ''
    }
    if (call.over) return
    begin(response)
    response.end(collected)
  } finally {
    call.end()
  }
}

function begin(response: Response): void {
  if (!response.headersSent) response.writeHead(200, [...JSON_HEADERS, ...callOf(response).headers])
}

/** Resolves when the client has taken what was written, or is gone; to be called after a write that returned false. */
export async function waitForDrain(response: Response, { signal }: Call): Promise<void> {
  await once(response, 'drain', { signal }).catch(() => {})
}
