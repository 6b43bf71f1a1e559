/**
 * What keeps a JSON value from being passed on, or undefined. Between processes it travels as protobuf, whose readers
 * stop at 100 levels, three of which are one level here; a member called `__proto__` would change the prototype of
 * whatever it is copied to; and a number that JSON.parse reads as infinite would come out as null.
 */
export function jsonProblem(value: unknown, most: number, levels: number = most): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'A number is too large'
  if (typeof value !== 'object' || value === null) return undefined
  if (levels === 0) return `Nested more than ${most} levels deep`
  if (Object.hasOwn(value, '__proto__')) return 'A member must not be called __proto__'
  for (const member of Object.values(value)) {
    const problem = jsonProblem(member, most, levels - 1)
    if (problem !== undefined) return problem
  }
  return undefined
}
