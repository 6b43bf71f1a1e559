import type { Dispatcher } from 'undici'
import { brokenConnection, unavailable } from './provider-errors.ts'

const HIGH_WATER_BYTES = 64 * 1024
const MAX_BYTES = 128 * 1024 * 1024
const DRAIN_MS = 1_000
const ERROR_MS = 2_000

export interface ResponseHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/**
 * A response of a provider, which is pulled: everything that arrived since the last read is returned at once, and while
 * more than 64 KiB are unread, nothing is taken from the socket. If the signal aborts, a waiting read rejects with its
 * reason, and the request is destroyed.
 */
export class ResponseReader implements Dispatcher.DispatchHandler {
  readonly #providerId: string
  readonly #signal: AbortSignal
  readonly #onAbort = (): void => {
    this.#chunks = []
    this.#fail(this.#signal.reason, true)
  }
  #controller: Dispatcher.DispatchController | undefined
  #head: ResponseHead | undefined
  #chunks: Buffer[] = []
  #waitingBytes = 0
  #totalBytes = 0
  #ended = false
  #failure: { readonly error: unknown } | undefined
  #wake: (() => void) | undefined
  readonly #take = (): readonly Buffer[] | undefined => {
    const chunks = this.#chunks
    if (chunks.length === 0) {
      if (this.#ended) return undefined
      throw this.#failure?.error
    }
    this.#chunks = []
    this.#waitingBytes = 0
    if (this.#controller?.paused === true) this.#controller.resume()
    return chunks
  }
  #drain: NodeJS.Timeout | undefined

  constructor(providerId: string, signal: AbortSignal) {
    this.#providerId = providerId
    this.#signal = signal
    if (signal.aborted) this.#onAbort()
    else signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Waits for status and headers. */
  async head(): Promise<ResponseHead> {
    while (this.#head === undefined) await this.#more()
    return this.#head
  }

  /** What has arrived since the last read, at least one chunk; undefined at the end. */
  read(): Promise<readonly Buffer[] | undefined> {
    const hasCome = this.#chunks.length > 0 || this.#ended
    // This runs for each chunk of a slow stream: an async function would make several more objects.
    return hasCome ? Promise.resolve(this.#take()) : this.#more().then(this.#take)
  }

  /** The whole body as text; a longer one is refused. */
  async text(maxBytes: number): Promise<string> {
    const chunks: Buffer[] = []
    let bytes = 0
    for (let read = await this.read(); read !== undefined; read = await this.read()) {
      bytes += append(chunks, read)
      if (bytes > maxBytes) throw unavailable(this.#providerId, 'The answer is too long')
    }
    return Buffer.concat(chunks).toString('utf8')
  }

  /**
   * The beginning of an error's body as text: what has come when it is that long, ends, breaks off, or has taken two
   * seconds, since the status says what matters.
   */
  async beginning(maxBytes: number): Promise<string> {
    const chunks: Buffer[] = []
    let bytes = 0
    const late = setTimeout(() => this.close(), ERROR_MS)
    try {
      for (let read = await this.read(); read !== undefined; read = await this.read()) {
        bytes += append(chunks, read)
        if (bytes >= maxBytes) break
      }
    } catch {
      this.#signal.throwIfAborted()
    } finally {
      clearTimeout(late)
    }
    return Buffer.concat(chunks).toString('utf8', 0, maxBytes)
  }

  /** Returns the connection to the pool if the response ends within a second, else destroys it. */
  release(): void {
    if (this.#ended || this.#failure !== undefined) return
    this.#drain = setTimeout(() => this.close(), DRAIN_MS)
    if (this.#controller?.paused === true) this.#controller.resume()
  }

  /** Destroys the request unless it is over. May be called repeatedly. */
  close(): void {
    if (!this.#ended && this.#drain === undefined) this.#fail(new Error('The answer is no longer wanted'), true)
    else if (!this.#ended) this.#controller?.abort(new Error('The answer did not end'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#failure !== undefined) controller.abort(asError(this.#failure.error))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Record<string, string | string[]>): void {
    if (status < 200) return
    const flat: Record<string, string> = {}
    for (const [name, value] of Object.entries(headers)) flat[name] = Array.isArray(value) ? value.join(', ') : value
    this.#head = { status, headers: flat }
    this.#wakeUp()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#drain !== undefined) return
    this.#chunks.push(chunk)
    this.#waitingBytes += chunk.byteLength
    this.#totalBytes += chunk.byteLength
    if (this.#waitingBytes > HIGH_WATER_BYTES) controller.pause()
    if (this.#totalBytes > MAX_BYTES) this.#fail(unavailable(this.#providerId, 'The answer is too long'), true)
    this.#wakeUp()
  }

  onResponseEnd(): void {
    this.#ended = true
    this.#settle()
    this.#wakeUp()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settle()
    if (this.#drain === undefined)
      this.#fail(brokenConnection(this.#providerId, error, this.#head !== undefined), false)
  }

  #more(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error)
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        if (this.#failure === undefined) resolve()
        else reject(this.#failure.error)
      }
      this.#wake = wake
    })
  }

  #wakeUp(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }

  #fail(error: unknown, destroy: boolean): void {
    if (this.#failure !== undefined || this.#ended) return
    this.#failure = { error }
    this.#settle()
    if (destroy) this.#controller?.abort(asError(error))
    this.#wakeUp()
  }

  #settle(): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
    clearTimeout(this.#drain)
  }
}

/** Returns how many bytes were added. */
function append(chunks: Buffer[], more: readonly Buffer[]): number {
  let bytes = 0
  for (const chunk of more) {
    chunks.push(chunk)
    bytes += chunk.byteLength
  }
  return bytes
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('Aborted', { cause: reason })
}
