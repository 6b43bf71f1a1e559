import type { ResponseReader } from './response-reader.ts'

const MAX_MS = 10_000
const MAX_CHARACTERS = 4 * 1024 * 1024

/** Bounds the time and the size for which a stream is read on, for its usage, when nobody gets more of its answer. */
export class Overtime implements Disposable {
  readonly #reader: Pick<ResponseReader, 'close'>
  #late: NodeJS.Timeout | undefined
  #characters = 0

  constructor(reader: Pick<ResponseReader, 'close'>) {
    this.#reader = reader
  }

  /** Counts what was read, and returns whether it was too much. Reading ends ten seconds after the first call. */
  isUp(batch: readonly string[] = []): boolean {
    this.#late ??= setTimeout(() => this.#reader.close(), MAX_MS)
    for (const data of batch) this.#characters += data.length
    return this.#characters > MAX_CHARACTERS
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#late)
  }
}
