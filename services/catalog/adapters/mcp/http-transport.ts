import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import type { Dispatcher } from 'undici'
import { boundedFetch } from './bounded-fetch.ts'

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1]

/** A stream that a server ends is opened again after this time. */
const RECONNECT_MS = 1_000
const MAX_RECONNECT_MS = 30_000
const GOODBYE_MS = 1_000
/** How long a server may take to end the response to a request that was answered or cancelled. */
const LINGER_MS = 1_000
/** Requests of a server that are replied to at the same time, and the rest after each reply; others get no reply. */
const MAX_REPLIES = 8
const REPLY_REST_MS = 100
/** The protocol's status for a session that the server no longer knows. */
const SESSION_GONE = 404

/** Where a server is, and what each request to it contains. */
export interface HttpTarget {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly dispatcher: Dispatcher
}

/** Streamable HTTP with limits. It is closed when the server is gone, or no longer knows the session. */
export class HttpTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onerror?: (error: Error) => void
  onclose?: () => void
  readonly #inner: StreamableHTTPClientTransport
  /** Requests whose responses the server has not ended, by their ids. */
  readonly #open = new Map<unknown, AbortController>()
  /** Ids of requests of the server that wait for a reply, which never comes if the server cancels them. */
  readonly #waiting = new Set<unknown>()
  /** How many replies are under way, or were a moment ago. */
  #replying = 0
  #why = 'it was closed'
  #closing: Promise<void> | undefined

  constructor({ url, headers, dispatcher }: HttpTarget) {
    this.#inner = new StreamableHTTPClientTransport(new URL(url), {
      fetch: boundedFetch(dispatcher, (method, answer) => this.#observe(method, answer)),
      requestInit: { headers: { ...headers } },
      // Its headers must not be sent to anybody else.
      redirectPolicy: 'same-origin',
      reconnectionScheduler: (reconnect, milliseconds, attempt) => {
        const least = Math.min(RECONNECT_MS * 2 ** attempt, MAX_RECONNECT_MS)
        const timer = setTimeout(reconnect, Math.max(least, Math.min(milliseconds, MAX_RECONNECT_MS))).unref()
        return () => clearTimeout(timer)
      },
    })
  }

  /** Why it was closed, for people. */
  get why(): string {
    return this.#why
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId
  }

  async start(): Promise<void> {
    const onMessage = (message: JSONRPCMessage): void => {
      if ('method' in message && 'id' in message) {
        // Each reply is a request of its own.
        if (this.#waiting.size + this.#replying >= MAX_REPLIES || this.#waiting.has(message.id)) return
        this.#waiting.add(message.id)
      } else if ('method' in message && message.method === 'notifications/cancelled') {
        this.#waiting.delete(message.params?.requestId)
      } else if (!('method' in message)) this.#endSoon(message.id)
      this.onmessage?.(message)
    }
    const onError = (error: Error): void => this.onerror?.(error)
    this.#inner.onmessage = onMessage
    this.#inner.onerror = onError
    await this.#inner.start()
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version)
  }

  async send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    if (this.#closing !== undefined) throw new Error('The server is gone')
    if (!('method' in message)) return this.#reply(message, options)
    if ('id' in message) return this.#request(message, options)
    if (message.method === 'notifications/cancelled') this.#endSoon(message.params?.requestId)
    await this.#inner.send(message, options)
  }

  close(): Promise<void> {
    return this.end('it was closed')
  }

  end(why: string): Promise<void> {
    if (this.#closing === undefined) this.#why = why
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #request(message: JSONRPCRequest, options: SendOptions): Promise<void> {
    const over = new AbortController()
    this.#open.set(message.id, over)
    const onRequestStreamEnd = (): void => this.#unanswered(message)
    try {
      await this.#inner.send(message, { ...options, onRequestStreamEnd, requestSignal: over.signal })
    } catch (error) {
      this.#open.delete(message.id)
      throw error
    }
  }

  /** Nobody waits for the rest of the response to a request. */
  #endSoon(id: unknown): void {
    const over = this.#open.get(id)
    this.#open.delete(id)
    if (over !== undefined) setTimeout(() => over.abort(), LINGER_MS).unref()
  }

  async #reply(message: JSONRPCMessage & { readonly id?: unknown }, options: SendOptions): Promise<void> {
    this.#waiting.delete(message.id)
    this.#replying++
    try {
      await this.#inner.send(message, options)
    } finally {
      setTimeout(() => this.#replying--, REPLY_REST_MS).unref()
    }
  }

  /** Nothing more comes for a request whose stream has ended, so whoever waits for its response would wait in vain. */
  #unanswered({ id }: JSONRPCRequest): void {
    this.#open.delete(id)
    const error = { code: STREAM_ENDED, message: 'The server ended the connection before it answered' }
    this.onmessage?.({ jsonrpc: '2.0', id, error })
  }

  #observe(method: string, answer: Response | Error): void {
    if (method === 'DELETE') return
    if (answer instanceof Error) void this.end(reasonOf(answer))
    else if (answer.status === SESSION_GONE && this.#inner.sessionId !== undefined) {
      void this.end('it no longer knows the session')
    }
  }

  async #close(): Promise<void> {
    // In a turn of its own, so that the sender of what failed is notified first.
    await new Promise((resolve) => setImmediate(resolve))
    const goodbye = this.#inner.terminateSession().catch(() => {})
    const late = new Promise((resolve) => setTimeout(resolve, GOODBYE_MS).unref())
    await Promise.race([goodbye, late])
    await this.#inner.close()
    this.onclose?.()
  }
}

/** A JSON-RPC error code of our own, for a request whose response will never come. */
export const STREAM_ENDED = -32_099

/** fetch hides what went wrong in the cause of its error. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message
}
