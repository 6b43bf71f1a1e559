/** Most members and items of one free-form JSON value. Between processes each is a message of its own. */
const MEMBERS = 50_000

/**
 * What keeps a JSON value from being passed on, or undefined. Between processes it travels as protobuf, whose readers
 * stop at 100 levels, three of which are one level here; a member called `__proto__` would change the prototype of
 * whatever it is copied to; and a number that JSON.parse reads as infinite would come out as null.
 */
export function jsonProblem(value: unknown, most: number): string | undefined {
  return problemOf(value, most, most, { left: MEMBERS })
}

/** How many members and items a JSON value has, on all levels. */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = Object.values(value)
  return members.reduce((sum: number, member) => sum + countMembers(member), members.length)
}

function problemOf(value: unknown, most: number, levels: number, budget: { left: number }): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'has a number that is too large'
  if (typeof value !== 'object' || value === null) return undefined
  if (levels === 0) return `must be nested at most ${most} levels deep`
  if (Object.hasOwn(value, '__proto__')) return 'must not have a member called __proto__'
  const members = Object.values(value)
  budget.left -= members.length
  if (budget.left < 0) return `must have at most ${MEMBERS} members`
  for (const member of members) {
    const problem = problemOf(member, most, levels - 1, budget)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** An empty list stands for "absent" in the protobuf files. */
export function listOrAbsent<T, J>(items: readonly T[] = [], map: (item: T) => J): J[] | undefined {
  return items.length === 0 ? undefined : items.map(map)
}
