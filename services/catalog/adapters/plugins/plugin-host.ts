import type { Duplex } from 'node:stream'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Logger } from '#shared/telemetry/logging.ts'
import { type Command, type CommandEnd, quote, type StartCommand } from '../commands/command.ts'
import { LineReader } from '../commands/line-reader.ts'
import { logOutput } from '../commands/process-output.ts'
import type { PluginStart, ToHost, ToPlugin } from './host/protocol.ts'
import { ChannelMisused, HostMessages } from './host-messages.ts'

interface Options {
  readonly start: StartCommand
  readonly directory: string
  /** The whole environment of a plugin. */
  readonly environment: Readonly<Record<string, string>>
  /** How many plugins load at once; the others wait. */
  readonly loads: number
  readonly logger: Logger
}

/** How a process ended, or why it must be ended. */
export interface HostEnd extends CommandEnd {
  /** What was written to its channel that is not one of its messages. */
  readonly misuse?: string
}

export interface HostListener {
  /** Whether something is expected from it. */
  readonly busy: boolean
  /** It begins to load. */
  started(): void
  message(text: string): void
  failed(error: string): void
}

const HOST = fileURLToPath(new URL('./host/host.ts', import.meta.url))
const KEEP_COMPILED = fileURLToPath(new URL('./host/keep-compiled.mjs', import.meta.url))
/** How often a process is pinged while something is expected from it, and how long it may take to respond. */
const PING_MS = 2_000
const ANSWER_MS = 2_000
/** How many pings are skipped at its start, before it has sent anything. */
const SPARED = 7

/** A process that plugins of one location run in. Disposal ends it, with everything that it started. */
export class PluginHost implements AsyncDisposable {
  /** Resolves when the process has ended, or must be ended because of messages that no honest process sends. */
  readonly ended: Promise<HostEnd>
  readonly #command: Command
  readonly #channel: Duplex
  readonly #messages = new HostMessages()
  readonly #listeners = new Map<number, HostListener>()
  readonly #breakOff: (end: HostEnd) => void
  readonly #watch: NodeJS.Timeout
  #runs = 0
  #sent = 0
  #begun = false
  #pinging: Promise<boolean> | undefined
  #answered: (() => void) | undefined

  private constructor(command: Command, channel: Duplex, options: Options) {
    this.#command = command
    this.#channel = channel
    const broken = Promise.withResolvers<HostEnd>()
    this.#breakOff = broken.resolve
    const breakOff = (): void => broken.resolve({ code: 1, signal: null })
    const lines = new LineReader()
    channel.on('data', (chunk: Buffer) => {
      try {
        const read = lines.push(chunk)
        this.#messages.count(chunk.length, read.length)
        for (const line of read) this.#receive(line)
      } catch (error) {
        const misuse = error instanceof Error ? error.message : String(error)
        broken.resolve({ code: 1, signal: null, misuse })
        channel.destroy()
      }
    })
    channel.on('error', () => {}).on('close', breakOff)
    const open = { type: 'open', key: this.#messages.key, loads: options.loads } satisfies ToHost
    channel.write(`${JSON.stringify(open)}\n`)
    this.ended = Promise.race([command.ended, broken.promise]).catch(() => ({ code: null, signal: 'SIGKILL' as const }))
    let spared = 0
    this.#watch = setInterval(() => {
      if (!this.#begun && spared++ < SPARED) return
      if ([...this.#listeners.values()].some(({ busy }) => busy)) void this.answers()
    }, PING_MS).unref()
    const { directory, logger } = options
    logOutput(command.output, (output) => logger.info({ directory, output }, 'A plugin printed something'))
  }

  /** Starts one. Throws ToolError if the system cannot. */
  static async start(options: Options): Promise<PluginHost> {
    const { start, directory, environment } = options
    const command = await start({
      shell: '/bin/sh',
      command: `exec ${quote(process.execPath)} --disable-sigusr1 --import ${quote(KEEP_COMPILED)} ${quote(HOST)}`,
      directory,
      environment,
      channel: true,
    })
    if (command.channel === undefined) throw new Error('The process has no channel')
    return new PluginHost(command, command.channel, options)
  }

  /** Starts a plugin; returns the number of this run. */
  run(start: PluginStart, listener: HostListener): number {
    const run = ++this.#runs
    this.#listeners.set(run, listener)
    this.#send({ run, type: 'start', start })
    return run
  }

  post(run: number, post: ToPlugin): void {
    if (this.#listeners.has(run)) this.#send({ run, type: 'post', post })
  }

  /** Ends a run, of which nothing more is reported. */
  end(run: number): void {
    if (this.#listeners.delete(run)) this.#send({ run, type: 'end' })
  }

  /**
   * Whether the process itself responds, whatever its plugins do, and has received everything that it was sent. One
   * that does not counts as ended.
   */
  answers(): Promise<boolean> {
    this.#pinging ??= this.#ping().finally(() => {
      this.#pinging = undefined
    })
    return this.#pinging
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#watch)
    this.#listeners.clear()
    await this.#command[Symbol.asyncDispose]()
  }

  async #ping(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const observeAnswer = (): void => resolve(true)
    this.#answered = observeAnswer
    const ping = JSON.stringify({ type: 'ping', sent: this.#sent } satisfies ToHost)
    if (!this.#channel.destroyed) this.#channel.write(`${ping}\n`)
    // What has arrived while this process was busy is read in the next turn.
    const late = delay(ANSWER_MS, false, { ref: false }).then(nextTurn)
    const answered = await Promise.race([promise, late.then(() => false)])
    if (!answered) this.#breakOff({ code: null, signal: 'SIGSTOP' })
    return answered
  }

  #send(message: ToHost): void {
    this.#sent++
    if (!this.#channel.destroyed) this.#channel.write(`${JSON.stringify(message)}\n`)
  }

  // Throws for a message that no host sends.
  #receive(line: string): void {
    this.#begun = true
    const message = this.#messages.read(line, this.#runs)
    if (message.type === 'pong') {
      if (this.#answered === undefined) throw new ChannelMisused('an answer to nothing')
      this.#answered()
      this.#answered = undefined
      return
    }
    const listener = this.#listeners.get(message.run)
    if (message.type === 'message') listener?.message(message.text)
    else if (message.type === 'started') listener?.started()
    else {
      this.#listeners.delete(message.run)
      listener?.failed(message.error)
    }
  }
}
