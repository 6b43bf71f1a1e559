/** The values of an enum, by their names in the domain and their numbers in messages. */
export interface EnumTable<Name extends string, Value extends number> {
  readonly names: readonly Name[]
  toProto(name: Name): Value
  /** Undefined for a missing value, UNSPECIFIED, or a value that only a newer peer knows. */
  fromProto(value: number | undefined): Name | undefined
}

/** Makes the table of an enum, which is read in both directions. Throws if two names have the same number. */
export function enumTable<Name extends string, Value extends number>(
  values: Readonly<Record<Name, Value>>,
): EnumTable<Name, Value> {
  const names = new Map<number | undefined, Name>()
  for (const name in values) {
    if (names.has(values[name])) throw new Error(`${names.get(values[name])} and ${name} are the same value`)
    names.set(values[name], name)
  }
  return { names: [...names.values()], toProto: (name) => values[name], fromProto: (value) => names.get(value) }
}
