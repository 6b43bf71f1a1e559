import { Broadcast, type BroadcastOptions } from './broadcast.ts'

/** What a shared stream is made from. */
export interface SharedStreamOptions<T> extends BroadcastOptions<T> {
  /** The position that the source begins behind, as its first item says. */
  readonly begins: (first: T) => string
  /** Called when nobody uses it any more: what the source holds has to be given up. */
  readonly close: () => void
}

/** A broadcast that is open while somebody uses it. */
export class SharedStream<T> extends Broadcast<T> {
  /** Resolves when the source has begun; rejects as it does. */
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
