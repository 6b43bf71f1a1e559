interface Waiting {
  readonly organizationId: string
  readonly begin: () => void
}

/** Limits how much is fetched at once: in total, and for one organization, so that it cannot delay others. */
export class FetchSlots {
  readonly #most: number
  readonly #mostOfOrganization: number
  readonly #runningOf = new Map<string, number>()
  readonly #waiting: Waiting[] = []
  #running = 0

  constructor(most: number, mostOfOrganization: number) {
    this.#most = most
    this.#mostOfOrganization = mostOfOrganization
  }

  /**
   * Does the work once there is room for it, in the order of the calls as far as their organizations have room. If the
   * signal aborts while it waits, it is removed and rejects with the reason.
   */
  async run<T>(organizationId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#hasRoom(organizationId)) this.#take(organizationId)
    else await this.#wait(organizationId, signal)
    try {
      return await work()
    } finally {
      this.#release(organizationId)
    }
  }

  #wait(organizationId: string, signal: AbortSignal): Promise<void> {
    return new Promise((begin, reject) => {
      const waiting = { organizationId, begin }
      this.#waiting.push(waiting)
      const leave = () => {
        const place = this.#waiting.indexOf(waiting)
        if (place === -1) return
        this.#waiting.splice(place, 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  #hasRoom(organizationId: string): boolean {
    return this.#running < this.#most && this.#of(organizationId) < this.#mostOfOrganization
  }

  #of(organizationId: string): number {
    return this.#runningOf.get(organizationId) ?? 0
  }

  #take(organizationId: string): void {
    this.#running += 1
    this.#runningOf.set(organizationId, this.#of(organizationId) + 1)
  }

  #release(organizationId: string): void {
    this.#running -= 1
    const left = this.#of(organizationId) - 1
    if (left === 0) this.#runningOf.delete(organizationId)
    else this.#runningOf.set(organizationId, left)
    const next = this.#waiting.findIndex((one) => this.#hasRoom(one.organizationId))
    if (next === -1) return
    const [{ organizationId: its, begin }] = this.#waiting.splice(next, 1) as [Waiting]
    this.#take(its)
    begin()
  }
}
