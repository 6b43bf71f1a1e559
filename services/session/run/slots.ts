import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * The slots of a process, which limit how many runs work at once. A run holds a slot while it works, and none while it
 * only waits for a person or a time. Runs get slots in the order in which they requested them.
 */
export class Slots {
  #free: number
  /** In the order in which they came. */
  readonly #waiting = new Set<Slot>()

  constructor(size: number) {
    this.#free = size
  }

  /** Acquires a slot for one more run. Throws the signal's reason. */
  async take(signal: AbortSignal): Promise<Slot> {
    const slot = new Slot(this)
    await slot.acquire(signal)
    return slot
  }

  /** For slots only. */
  enter(slot: Slot): void {
    this.#waiting.add(slot)
    this.#admit()
  }

  /** For slots only. */
  leave(slot: Slot, held: boolean): void {
    this.#waiting.delete(slot)
    if (held) this.#free++
    this.#admit()
  }

  #admit(): void {
    for (const slot of this.#waiting) {
      if (this.#free === 0) return
      this.#free--
      this.#waiting.delete(slot)
      slot.granted()
    }
  }
}

/** A part of a run that proceeds on its own. */
interface Part {
  /** How many waits it is in; waits may overlap and be nested. */
  resting: number
}

/** The slot of one run, shared by all of its parts. */
export class Slot implements Disposable {
  readonly #slots: Slots
  readonly #admit = new Set<() => void>()
  readonly #whole: Part = { resting: 0 }
  readonly #parts = new Set([this.#whole])
  /** The part of this run that the current code belongs to; undefined in code of other runs. */
  readonly #current = new AsyncLocalStorage<Part>()
  #held = false
  /** How many calls others are doing for the run. */
  #left = 0

  constructor(slots: Slots) {
    this.#slots = slots
  }

  /** Whether the run works, or others work for it. */
  get busy(): boolean {
    return this.#held || this.#left > 0
  }

  /** To be called before work: waits for a slot if the run has given its own up. Throws the signal's reason. */
  async acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#held) return
    await new Promise<void>((resolve, reject) => {
      const admit = (): void => {
        signal.removeEventListener('abort', stop)
        resolve()
      }
      const stop = (): void => {
        this.#admit.delete(admit)
        if (this.#admit.size === 0) this.#slots.leave(this, false)
        reject(signal.reason)
      }
      this.#admit.add(admit)
      signal.addEventListener('abort', stop, { once: true })
      this.#slots.enter(this)
    })
  }

  /** Waits for something that is not work. The slot is given up while every part of the run waits. */
  async rest<T>(wait: () => Promise<T>): Promise<T> {
    const part = this.#current.getStore() ?? this.#whole
    part.resting++
    this.#yield()
    try {
      return await wait()
    } finally {
      part.resting--
    }
  }

  /** The same for work that others do for the run; the run counts as busy meanwhile, and a stop lets it finish. */
  async leaveTo<T>(others: () => Promise<T>): Promise<T> {
    this.#left++
    try {
      return await this.rest(others)
    } finally {
      this.#left--
    }
  }

  /** Does several things at once, each a part of the run, and waits until all have ended. */
  async split<T>(works: readonly (() => Promise<T>)[]): Promise<PromiseSettledResult<T>[]> {
    const parts = works.map((work) => ({ work, part: { resting: 0 } }))
    this.#parts.delete(this.#whole)
    for (const { part } of parts) this.#parts.add(part)
    const does = async ({ work, part }: (typeof parts)[number]): Promise<T> => {
      try {
        return await this.#current.run(part, work)
      } finally {
        this.#parts.delete(part)
        this.#yield()
      }
    }
    const results = await Promise.allSettled(parts.map(does))
    this.#parts.add(this.#whole)
    return results
  }

  /** For the slots only. */
  granted(): void {
    this.#held = true
    for (const admit of this.#admit) admit()
    this.#admit.clear()
  }

  [Symbol.dispose](): void {
    this.#release()
  }

  #yield(): void {
    if (this.#parts.size > 0 && [...this.#parts].every(({ resting }) => resting > 0)) this.#release()
  }

  #release(): void {
    if (!this.#held) return
    this.#held = false
    this.#slots.leave(this, true)
  }
}
