/**
 * The slots of a process: so many runs work at once. A run has its slot while it works, and none while all that it does
 * is to wait for somebody or for a time; whoever wants one waits in turn.
 */
export class Slots {
  #free: number
  /** In the order in which they came. */
  readonly #waiting = new Set<Slot>()

  constructor(size: number) {
    this.#free = size
  }

  /** A slot for one more run. Throws the signal's reason. */
  async take(signal: AbortSignal): Promise<Slot> {
    const slot = new Slot(this)
    await slot.hold(signal)
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

/** The slot of one run, all of whose parts share it. */
export class Slot implements Disposable {
  readonly #slots: Slots
  readonly #admit = new Set<() => void>()
  #held = false
  #parts = 1
  #resting = 0

  constructor(slots: Slots) {
    this.#slots = slots
  }

  /** Whether the run works. */
  get held(): boolean {
    return this.#held
  }

  /** To be called before work: waits in turn for the slot when the run has given it up. Throws the signal's reason. */
  async hold(signal: AbortSignal): Promise<void> {
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

  /** Waits for something that is no work. While every part of the run does, the slot is given up. */
  async rest<T>(wait: () => Promise<T>): Promise<T> {
    this.#resting++
    this.#yield()
    try {
      return await wait()
    } finally {
      this.#resting--
    }
  }

  /** From here on the run has so many parts, instead of one. */
  split(parts: number): void {
    this.#parts = parts
  }

  /** One of the parts has ended. The last one is the whole run again. */
  join(): void {
    if (this.#parts === 1) return
    this.#parts--
    this.#yield()
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
    if (this.#resting === this.#parts) this.#release()
  }

  #release(): void {
    if (!this.#held) return
    this.#held = false
    this.#slots.leave(this, true)
  }
}
