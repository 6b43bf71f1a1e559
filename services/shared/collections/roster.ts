/**
 * Members that come and go with each request. A `Set` or a `Map` would do, but V8 replaces its table every few dozen
 * changes, and each table refers to the one that replaced it. Once one of them is old, it keeps all later ones from
 * being collected with the young, and with them every request that was a member when its table was replaced.
 */
export class Roster<T extends object> implements Iterable<T> {
  readonly #seats: (T | undefined)[] = []
  readonly #free: number[] = []

  /** Returns the member's seat, which no other member has until it is deleted. */
  add(member: T): number {
    const seat = this.#free.pop() ?? this.#seats.length
    this.#seats[seat] = member
    return seat
  }

  /** The member in a seat; undefined: there is none. */
  get(seat: number): T | undefined {
    return this.#seats[seat]
  }

  /** Frees a seat. Harmless if it is free. */
  delete(seat: number): void {
    if (this.#seats[seat] === undefined) return
    this.#seats[seat] = undefined
    this.#free.push(seat)
  }

  get size(): number {
    return this.#seats.length - this.#free.length
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const member of this.#seats) if (member !== undefined) yield member
  }
}
