import { JSON_LIMITS, JsonGauge } from '../http/json-gauge.ts'
import type { Problems } from '../shape.ts'

/** Most parts of a whole conversation: to check and pass on more would keep every other request waiting. */
const MOST_PARTS = 50_000
/** Members of the arguments of all calls together, which some providers want as JSON and not as text. */
const ARGUMENTS = { ...JSON_LIMITS, members: 50_000 }

/**
 * Finds that a conversation has too many parts, which stand in these lists of its messages, before anything of them is
 * checked. Every message counts as one part at least.
 */
export function partsProblem(conversation: unknown, lists: readonly string[]): string | undefined {
  if (!Array.isArray(conversation)) return undefined
  let parts = 0
  for (const message of conversation as unknown[]) {
    const members = (message ?? {}) as Readonly<Record<string, unknown>>
    let own = 0
    for (const name of lists) {
      const list = members[name]
      if (Array.isArray(list)) own += list.length
    }
    parts += Math.max(own, 1)
  }
  return parts > MOST_PARTS ? `has more than ${MOST_PARTS} parts` : undefined
}

/** The arguments of a call, and where they stand. */
interface CallArguments {
  readonly text: string
  readonly path: readonly PropertyKey[]
}

/** Reports the first call whose arguments are too much together with those of the calls before it. */
export function limitArguments(calls: Iterable<CallArguments>, problems: Problems): void {
  let { members } = ARGUMENTS
  for (const { text, path } of calls) {
    const gauge = new JsonGauge({ ...ARGUMENTS, members })
    try {
      gauge.add(Buffer.from(text))
    } catch {
      const message = `are nested more than ${ARGUMENTS.depth} levels deep, have more than ${ARGUMENTS.members} members with those before, or a number of more than ${ARGUMENTS.scalar} characters`
      problems.addIssue({ code: 'custom', path, message })
      return
    }
    members -= gauge.members
  }
}
