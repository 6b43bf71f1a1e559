/** An empty list stands for "absent" in the protobuf files. */
export function listOrAbsent<T, J>(items: readonly T[] = [], map: (item: T) => J): J[] | undefined {
  return items.length === 0 ? undefined : items.map(map)
}
