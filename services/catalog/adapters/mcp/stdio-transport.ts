import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { OutputWindow } from '#services/catalog/domain/truncate.ts'
import { isObject } from '#shared/json.ts'
import { type Command, readToEnd, settledWithin } from '../commands/command.ts'
import { LineReader } from '../commands/line-reader.ts'
import { MAX_MESSAGE_BYTES } from '../commands/message-gauge.ts'
import { readSlowly } from '../commands/process-output.ts'
import { MAX_UNSOLICITED_BYTES, Pace } from './pace.ts'

/** How many messages are processed in one turn of the event loop. */
const AT_ONCE = 20
/** How long a server may take to end by itself when its input ends, and then after SIGTERM. */
const END_MS = 200
const TERMINATE_MS = 500
/** For output that a server wrote before it ended. */
const LAST_WORDS_MS = 200
/** How a request or notification begins in most JSON. */
const METHOD = /^\s*\{[^{[]*"method"\s*:/
const HEAD_LENGTH = 512
const ERROR_BYTES = 8 << 10
const ERROR_CHARACTERS = 500

/**
 * Messages as lines on the channel of a supervised command; the end of its error output is kept. A server that floods
 * either is read more slowly; large messages that answer nothing are not read at all; and a server that does not
 * read what it is sent is closed.
 */
export class StdioTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onerror?: (error: Error) => void
  onclose?: () => void
  readonly #command: Command
  readonly #channel: Duplex
  readonly #lines = new LineReader()
  readonly #pace = new Pace()
  readonly #errors = new OutputWindow(ERROR_BYTES)
  /** Requests that were not answered yet. */
  readonly #open = new Set<unknown>()
  #why = 'it was closed'
  #closing: Promise<void> | undefined

  constructor(command: Command) {
    if (command.channel === undefined) throw new Error('The command has no channel')
    this.#command = command
    this.#channel = command.channel
  }

  /** Why it was closed, for people. */
  get why(): string {
    return this.#why
  }

  async start(): Promise<void> {
    readSlowly(this.#command.output, (chunk) => this.#errors.push(chunk))
    this.#channel.on('data', (chunk: Buffer) => void this.#receive(chunk))
    this.#command.ended.then(
      ({ code, signal }) =>
        this.#lost(signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`),
      (error: Error) => this.#lost(error.message),
    )
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closing !== undefined || this.#channel.destroyed) throw new Error('The server is gone')
    if (this.#channel.writableLength > MAX_MESSAGE_BYTES) {
      void this.end('it does not read its input')
      throw new Error('The server does not read its input')
    }
    if ('method' in message && 'id' in message) this.#open.add(message.id)
    else if ('method' in message && message.method === 'notifications/cancelled') {
      this.#open.delete(message.params?.requestId)
    }
    this.#channel.write(`${JSON.stringify(message)}\n`)
  }

  /** Resolves when nothing of the server is left. */
  close(): Promise<void> {
    return this.end('it was closed')
  }

  end(why: string): Promise<void> {
    if (this.#closing === undefined) this.#why = why
    this.#closing ??= this.#endCommand().finally(() => this.onclose?.())
    return this.#closing
  }

  async #receive(chunk: Buffer): Promise<void> {
    this.#channel.pause()
    try {
      const lines = this.#lines.push(chunk)
      for (const [index, line] of lines.entries()) {
        if (index % AT_ONCE === AT_ONCE - 1) await nextTurn()
        const message = this.#isUnsolicited(line) ? undefined : parseMessage(line)
        if (message === undefined || this.#closing !== undefined) continue
        if ('id' in message && !('method' in message)) this.#open.delete(message.id)
        this.onmessage?.(message)
      }
      await this.#pace.pass(
        lines.length,
        lines.reduce((bytes, line) => bytes + line.length, 0),
      )
      this.#channel.resume()
    } catch (error) {
      void this.end(error instanceof Error ? error.message : String(error))
    }
  }

  /** Whether a message is large and nobody waits for a response, or it does not begin like one. */
  #isUnsolicited(line: string): boolean {
    return line.length > MAX_UNSOLICITED_BYTES && (this.#open.size === 0 || METHOD.test(line.slice(0, HEAD_LENGTH)))
  }

  async #lost(why: string): Promise<void> {
    const waiting = new AbortController()
    const last = settledWithin(once(this.#channel, 'close', { signal: waiting.signal }), LAST_WORDS_MS)
    await Promise.all([last, readToEnd(this.#command.output)])
    waiting.abort()
    const words = this.#errors.tail(ERROR_BYTES).trim().slice(-ERROR_CHARACTERS)
    await this.end(words === '' ? why : `${why}: ${words}`)
  }

  async #endCommand(): Promise<void> {
    await using _ = this.#command
    this.#channel.end()
    if (!(await settledWithin(this.#command.ended, END_MS))) await this.#command.terminate(TERMINATE_MS)
  }
}

const NOTIFICATIONS = new Set(['notifications/tools/list_changed', 'notifications/progress', 'notifications/cancelled'])

/**
 * Parses a message of a server if it matters here: a response, a request, or one of a few notifications. Undefined:
 * anything else, including text that is not a message, which servers do print where messages belong.
 */
function parseMessage(text: string): JSONRPCMessage | undefined {
  // Text that is not an object is not worth an exception.
  if (!/^\s*\{/.test(text)) return undefined
  const value = tryParse(text)
  if (!isObject(value) || value.jsonrpc !== '2.0') return undefined
  const wanted = isId(value.id) || (value.id === undefined && NOTIFICATIONS.has(String(value.method)))
  return wanted ? (value as JSONRPCMessage) : undefined
}

function isId(id: unknown): boolean {
  return typeof id === 'number' || typeof id === 'string'
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
