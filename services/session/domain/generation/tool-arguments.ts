import { isDeeperThan, isObject, type JsonObject, MAX_LEVELS } from '#shared/json.ts'

/** Longest arguments, in characters, and most members and items: to pass on more would keep every other run waiting. */
const MAX_LENGTH = 1_048_576
const MAX_MEMBERS = 50_000

/** Arguments, or what is wrong with them, for the model that wrote them. */
export type ParsedArguments =
  | { readonly input: JsonObject; readonly problem?: undefined }
  | { readonly problem: string; readonly input?: undefined }

/** Reads the arguments of a tool call; nothing at all means none. */
export function parseArguments(text: string): ParsedArguments {
  if (text.length > MAX_LENGTH) return { problem: `The arguments of the call are longer than ${MAX_LENGTH} characters` }
  if (text.trim() === '') return { input: {} }
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return NO_OBJECT
    if (isDeeperThan(value)) {
      return { problem: `The arguments of the call are nested more than ${MAX_LEVELS} levels deep` }
    }
    if (membersOf(value) > MAX_MEMBERS) {
      return { problem: `The arguments of the call have more than ${MAX_MEMBERS} members and items` }
    }
    const problem = problemIn(value)
    return problem === undefined
      ? { input: value as JsonObject }
      : { problem: `The arguments of the call have ${problem}` }
  } catch {
    return NO_OBJECT
  }
}

const NO_OBJECT = { problem: 'The arguments of the call are not a JSON object' }

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, member) => sum + 1 + membersOf(member), 0)
}

/** A problem that no request could contain, and so no import of the session either. */
function problemIn(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'a number that is too large'
  if (typeof value === 'string') return value.isWellFormed() ? undefined : 'a string with a lone surrogate'
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    if (name === '__proto__') return 'a member called __proto__'
    if (!name.isWellFormed() || name.includes('\0')) return 'a member whose name has a lone surrogate or NUL'
    const problem = problemIn(member)
    if (problem !== undefined) return problem
  }
  return undefined
}
