/** An empty list stands for "absent" in the protobuf files. */
export function listOrAbsent<T, J>(items: readonly T[] = [], map: (item: T) => J): J[] | undefined {
  return items.length === 0 ? undefined : items.map(map)
}

/** What of some members is there: protobuf takes a member that is undefined for one that was given. */
export function given<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const those = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(those) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
