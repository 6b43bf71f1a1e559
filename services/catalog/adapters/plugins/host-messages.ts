import { randomBytes } from 'node:crypto'
import { isObject } from '#shared/json.ts'
import type { FromHost } from './host/protocol.ts'

/** Maximum number of messages and bytes from one process per second. */
const MAX_MESSAGES = 65_536
const MAX_BYTES = 64 << 20
const SECOND_MS = 1_000

/** Something was written to the channel of a process that is not one of its messages. */
export class ChannelMisused extends Error {
  override readonly name = 'ChannelMisused'
}

/**
 * Reads the messages of a process of plugins: its plugins share the descriptor of its channel, and may write to it,
 * too.
 */
export class HostMessages {
  /** The process must begin each of its messages with this key, which its threads do not get. */
  readonly key = randomBytes(16).toString('hex')
  #second = 0
  #messages = 0
  #bytes = 0

  /** Counts what arrives. Throws ChannelMisused if it is too much for one second. */
  count(bytes: number, messages: number): void {
    const second = Math.floor(performance.now() / SECOND_MS)
    if (second !== this.#second) {
      this.#second = second
      this.#messages = 0
      this.#bytes = 0
    }
    this.#bytes += bytes
    this.#messages += messages
    if (this.#bytes > MAX_BYTES || this.#messages > MAX_MESSAGES) throw new ChannelMisused('too much in a second')
  }

  /** Throws ChannelMisused for anything that the process did not send; `runs`: how many of them have begun. */
  read(line: string, runs: number): FromHost {
    if (!line.startsWith(`${this.key} `)) throw new ChannelMisused('a message that the process did not send')
    const message: unknown = JSON.parse(line.slice(this.key.length + 1))
    if (!isObject(message)) throw new ChannelMisused('no message')
    const { type, run, text, error } = message
    if (type === 'pong') return { type }
    if (typeof run !== 'number' || !Number.isInteger(run) || run < 1 || run > runs)
      throw new ChannelMisused('a message about no plugin')
    if (type === 'started') return { type, run }
    if (type === 'message' && typeof text === 'string') return { type, run, text }
    if (type === 'failed' && typeof error === 'string') return { type, run, error: error.toWellFormed() }
    throw new ChannelMisused('no message')
  }
}
