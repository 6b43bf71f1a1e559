/** An empty string stands for "absent" in the protobuf files. */
export function orAbsent(text: string): string | undefined {
  return text === '' ? undefined : text
}

/** As an empty list does. */
export function listOrAbsent<T, J>(items: readonly T[] = [], map: (item: T) => J): J[] | undefined {
  return items.length === 0 ? undefined : items.map(map)
}
