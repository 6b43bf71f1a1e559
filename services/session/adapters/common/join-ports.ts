/** Joins objects that each implement some methods of a port; no two of them have a method of the same name. */
export function joinPorts<T extends readonly object[]>(...parts: T): Joined<T> {
  const joined: Record<PropertyKey, unknown> = {}
  for (const part of parts) {
    for (const name of Reflect.ownKeys(Object.getPrototypeOf(part) as object)) {
      const member: unknown = Reflect.get(part, name)
      if (name === 'constructor' || typeof member !== 'function') continue
      // Not a bound function, which `await using` would not accept.
      joined[name] = (...words: unknown[]): unknown => Reflect.apply(member, part, words)
    }
  }
  return joined as unknown as Joined<T>
}

type Joined<T extends readonly object[]> = T extends readonly [infer First, ...infer Rest extends readonly object[]]
  ? First & Joined<Rest>
  : unknown
