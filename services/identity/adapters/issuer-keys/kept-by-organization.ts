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

  keep(organizationId: string, id: string, value: T, size: number): void {
    const cache = this.#of.get(organizationId) ?? new LRUCache<string, T>({ maxSize: this.#most })
    this.#of.set(organizationId, cache)
    this.#size -= cache.calculatedSize
    // An existing value moves to the end, and its size is counted again, only if it is deleted first.
    cache.delete(id)
    cache.set(id, value, { size })
    this.#size += cache.calculatedSize
    while (this.#size > this.#most) this.#forgetOne()
  }

  forget(organizationId: string, id: string): void {
    const cache = this.#of.get(organizationId)
    if (cache === undefined) return
    this.#size -= cache.calculatedSize
    cache.delete(id)
    this.#size += cache.calculatedSize
    if (cache.size === 0) this.#of.delete(organizationId)
  }

  #forgetOne(): void {
    let largest = ''
    let most = 0
    for (const [organizationId, { calculatedSize }] of this.#of) {
      if (calculatedSize > most) [largest, most] = [organizationId, calculatedSize]
    }
    const cache = this.#of.get(largest)
    if (cache === undefined) throw new Error('nothing is kept')
    cache.pop()
    this.#size -= most - cache.calculatedSize
    if (cache.size === 0) this.#of.delete(largest)
  }
}
