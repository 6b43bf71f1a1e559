import { LRUCache } from 'lru-cache'

/**
 * Keeps things of organizations up to a size in all. Where that is too much, the organization that keeps most forgets what it
 * used least recently: whoever keeps no more than its share is never made to forget by others.
 */
export class KeptByOrganization<T extends object> {
  readonly #most: number
  readonly #of = new Map<string, LRUCache<string, T>>()
  #size = 0

  constructor(most: number) {
    this.#most = most
  }

  get(organizationId: string, id: string): T | undefined {
    return this.#of.get(organizationId)?.get(id)
  }

  /** Replaces what was kept by that id. */
  keep(organizationId: string, id: string, value: T, size: number): void {
    const kept = this.#of.get(organizationId) ?? new LRUCache<string, T>({ maxSize: this.#most })
    this.#of.set(organizationId, kept)
    this.#size -= kept.calculatedSize
    // The size of what is there already is counted anew only when it is put there anew.
    kept.delete(id)
    kept.set(id, value, { size })
    this.#size += kept.calculatedSize
    while (this.#size > this.#most) this.#forgetOne()
  }

  forget(organizationId: string, id: string): void {
    const kept = this.#of.get(organizationId)
    if (kept === undefined) return
    this.#size -= kept.calculatedSize
    kept.delete(id)
    this.#size += kept.calculatedSize
    if (kept.size === 0) this.#of.delete(organizationId)
  }

  #forgetOne(): void {
    let largest = ''
    let most = 0
    for (const [organizationId, { calculatedSize }] of this.#of) {
      if (calculatedSize > most) [largest, most] = [organizationId, calculatedSize]
    }
    const kept = this.#of.get(largest)
    if (kept === undefined) throw new Error('nothing is kept')
    kept.pop()
    this.#size -= most - kept.calculatedSize
    if (kept.size === 0) this.#of.delete(largest)
  }
}
