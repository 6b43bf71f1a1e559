import { LRUCache } from 'lru-cache'

/**
 * Caches values of organizations up to a total size. Beyond that, the organization with the largest share loses the
 * values that it used least recently, so that an organization within its fair share never loses anything because of
 * others.
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

  /** Replaces the value with that id. */
  keep(organizationId: string, id: string, value: T, size: number): void {
    const kept = this.#of.get(organizationId) ?? new LRUCache<string, T>({ maxSize: this.#most })
    this.#of.set(organizationId, kept)
    this.#size -= kept.calculatedSize
    // An existing value moves to the end, and its size is counted again, only if it is deleted first.
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
