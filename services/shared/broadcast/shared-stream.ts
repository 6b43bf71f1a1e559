import { Broadcast } from './broadcast.ts'
import type { BroadcastOptions } from './broadcast-options.ts'

/** What a shared stream is made from. */
export interface SharedStreamOptions<T> extends BroadcastOptions<T> {
  /** The position after which the source begins, taken from its first item. */
  readonly begins: (first: T) => string
  /** Called when nobody uses the stream any more, to release what the source holds. */
  readonly close: () => void
}

/** A broadcast that stays open while somebody uses it. */
export class SharedStream<T> extends Broadcast<T> {
  /** Resolves when the source has begun; rejects if it cannot. */
  readonly opened: Promise<void>
  readonly #close: () => void
  #uses = 0

  constructor(options: SharedStreamOptions<T>) {
    super(options)
    this.#close = options.close
    this.opened = this.#open(options)
    this.opened.catch(() => {})
  }

  /** Keeps it open until the returned function is called; the last of these calls closes it. */
  use(): () => void {
    this.#uses++
    let isOpen = true
    return () => {
      if (isOpen && --this.#uses === 0) {
        this.#close()
        this.finish({})
      }
      isOpen = false
    }
  }

  async #open({ source, begins }: SharedStreamOptions<T>): Promise<void> {
    try {
      const first = await source.next()
      if (first.done === true) this.finish({})
      else this.begin(begins(first.value))
    } catch (error) {
      this.finish({ error })
      throw error
    }
  }
}
