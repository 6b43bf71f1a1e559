import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { MAX_ERROR, MAX_MESSAGE, type PluginStart, PONG, type ToPlugin } from './protocol.ts'

interface Listeners {
  /** It has loaded. */
  ready(): void
  message(text: string): void
  /** Called once, at the end. */
  failed(error: string): void
}

/** Maximum number of messages and characters that a plugin may send per second. */
const MAX_MESSAGES = 1_000
const MAX_CHARACTERS = 16 << 20
/** How much a plugin may print per second; the rest is dropped. */
const MAX_PRINTED = 64 << 10
const SECOND_MS = 1_000
/** Minimum time between a response and the next check whether its thread is free. */
const PING_MS = 250
const END_MS = 2_000
/** How long a check waits for a thread to report its memory: one in native code reports only when that returns. */
const LOOK_MS = 200
/** For the end of a thread that has thrown. */
const LAST_WORDS_MS = 500

const MIB = 1 << 20

/** The thread of one plugin, and its limits. */
export class PluginThread {
  readonly memoryBytes: number
  /** When it last got something to do, or sent something; monotonic, in milliseconds. */
  #activeAt = performance.now()
  readonly #blockedMs: number
  readonly #listeners: Listeners
  readonly #worker: Worker
  /** Unanswered calls; before it is loaded, its loading. */
  #pending = 1
  #ready = false
  #over = false
  #pingedAt: number | undefined
  #pongAt = 0
  #lookedAt = performance.now()
  #measuring: Promise<number> | undefined
  #second = 0
  #messages = 0
  #characters = 0
  #printed = 0

  constructor({ memoryBytes, blockedMs, ...workerData }: PluginStart, listeners: Listeners) {
    this.memoryBytes = memoryBytes
    this.#blockedMs = blockedMs
    this.#listeners = listeners
    this.#worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData,
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(memoryBytes / MIB), maxYoungGenerationSizeMb: 16 },
    })
    this.#worker.on('message', (message) => this.#observe(message))
    this.#worker.on('messageerror', () => this.#fail('It sent a message that cannot be read'))
    let thrown: string | undefined
    // Earlier messages come by another way, and may come later, but never after its end.
    this.#worker.on('error', (error) => {
      const why = describe(error, memoryBytes)
      thrown ??= why
      setTimeout(() => this.#fail(why), LAST_WORDS_MS).unref()
    })
    this.#worker.on('exit', (code) => this.#fail(thrown ?? `It ended itself with exit code ${code}`))
    for (const output of [this.#worker.stdout, this.#worker.stderr]) output.on('data', (chunk) => this.#print(chunk))
  }

  /** Whether it is working, so that it must be checked often. */
  get busy(): boolean {
    return this.#pending > 0 || performance.now() - this.#activeAt < SECOND_MS
  }

  post(message: ToPlugin): void {
    if (message.type === 'call') this.#pending++
    this.#activeAt = performance.now()
    this.#worker.postMessage(message)
  }

  /** Resolves when it has ended; a thread that is kept by native code is not waited for. */
  async end(): Promise<void> {
    this.#over = true
    await Promise.race([this.#worker.terminate(), delay(END_MS, undefined, { ref: false })])
  }

  failOutside(bytes: number): void {
    this.#fail(`Its process took ${Math.round(bytes / MIB)} MiB outside of its thread`)
  }

  /**
   * Checks its memory; returns its bytes, or undefined if it does not report them soon. The system answers even for a
   * thread in an endless loop.
   */
  async look(): Promise<number | undefined> {
    const now = performance.now()
    const late = now - this.#lookedAt > SECOND_MS
    this.#lookedAt = now
    // If the check is this late, the host itself had no time.
    if (late) this.#pingedAt = undefined
    this.#ping(now)
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = undefined
    })
    return await Promise.race([this.#measuring, delay(LOOK_MS, undefined, { ref: false })])
  }

  async #measure(): Promise<number> {
    const used = await this.#worker.getHeapStatistics().catch(() => undefined)
    const bytes = used === undefined ? 0 : used.used_heap_size + used.external_memory
    if (bytes > this.memoryBytes) this.#fail(outOfMemory(this.memoryBytes))
    return bytes
  }

  #ping(now: number): void {
    if (!this.#ready) return
    if (this.#pingedAt === undefined) {
      if (now - this.#pongAt < PING_MS) return
      this.#pingedAt = now
      this.#worker.postMessage('ping')
    } else if (now - this.#pingedAt > this.#blockedMs) {
      this.#fail(`It kept its thread busy for more than ${this.#blockedMs / 1_000} s`)
    }
  }

  #observe(message: unknown): void {
    if (this.#over) return
    if (message === PONG && this.#pingedAt !== undefined) {
      this.#pingedAt = undefined
      this.#pongAt = performance.now()
      return
    }
    this.#count(typeof message === 'string' ? message.length : 0)
    if (typeof message !== 'string') this.#fail('It sent something other than a text')
    else if (message.length > MAX_MESSAGE) this.#fail(`It sent more than ${MAX_MESSAGE} characters at once`)
    else if (!this.#over) this.#pass(message)
  }

  #pass(message: string): void {
    this.#activeAt = performance.now()
    if (!message.startsWith('{"type":"loaded"')) this.#answered(message)
    this.#listeners.message(message)
  }

  #answered(message: string): void {
    if (!this.#ready) this.#listeners.ready()
    this.#ready = true
    if (!message.startsWith('{"type":"progress"')) this.#pending = Math.max(0, this.#pending - 1)
  }

  #count(characters: number): void {
    const second = Math.floor(performance.now() / SECOND_MS)
    if (second !== this.#second) {
      this.#second = second
      this.#messages = 0
      this.#characters = 0
      this.#printed = 0
    }
    this.#characters += characters
    if (++this.#messages > MAX_MESSAGES || this.#characters > MAX_CHARACTERS) {
      this.#fail(`It sent more than ${MAX_MESSAGES} messages or ${MAX_CHARACTERS} characters in a second`)
    }
  }

  #print(chunk: Buffer): void {
    this.#printed += chunk.length
    if (this.#printed <= MAX_PRINTED) process.stdout.write(chunk)
  }

  #fail(error: string): void {
    if (this.#over) return
    void this.end()
    this.#listeners.failed(error.slice(0, MAX_ERROR))
  }
}

function describe(error: unknown, memoryBytes: number): string {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return outOfMemory(memoryBytes)
  }
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

function outOfMemory(bytes: number): string {
  return `It took more than ${Math.round(bytes / MIB)} MiB of memory`
}
