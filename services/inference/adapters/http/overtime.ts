import type { ResponseReader } from './response-reader.ts'

const MAX_MS = 1_000
const MAX_CHARACTERS = 4 * 1024 * 1024

/** Bounds the time and the size for which a stream is read on, for its usage, when nobody gets more of its answer. */
export class Overtime implements Disposable {
  readonly #reader: Pick<ResponseReader, 'close'>
  #late: NodeJS.Timeout | undefined
  #characters = 0

  constructor(reader: Pick<ResponseReader, 'close'>) {
    this.#reader = reader
  }

  /** Starts the time, unless it is running. */
  begin(): void {
    this.#late ??= setTimeout(() => this.#reader.close(), MAX_MS)
  }

  /** Counts what was read, and returns whether the size is exceeded now. */
  exceededBy(batch: readonly string[] = []): boolean {
    for (const data of batch) this.#characters += data.length
    return this.#characters > MAX_CHARACTERS
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#late)
  }
}
