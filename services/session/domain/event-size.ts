const MEMBER = 8

/** Characters that something said keeps in memory, about. */
export function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let characters = 0
  for (const member of Object.values(value)) characters += MEMBER + charactersOf(member)
  return characters
}
