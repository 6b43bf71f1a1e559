import { z } from 'zod'
import { MessageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { itemsOf, membersOf } from '#shared/json.ts'
import { JSON_LIMITS, JsonGauge } from '../http/json-gauge.ts'
import { limitedBy, mustBe, type Problems } from '../shape.ts'

/** Content of a message: a text, or a list of parts by the dialect's own name. */
export function textOr<P extends z.ZodType>(part: P, name: 'parts' | 'blocks') {
  return z.union(
    [z.string(), limitedBy(MessageSchema.field.parts, z.array(part))],
    mustBe(`a string or an array of ${name}`),
  )
}

/** Most parts of a whole conversation: to check and pass on more would keep every other request waiting. */
const MOST_PARTS = 50_000
/** Members of the arguments of all calls together, which some providers want as JSON and not as text. */
const ARGUMENTS = { ...JSON_LIMITS, members: 50_000 }

/**
 * Finds that a conversation has too many parts, which stand in these lists of its messages, before anything of them is
 * checked. Every message counts as one part at least.
 */
export function partsProblem(conversation: unknown, lists: readonly string[]): string | undefined {
  let parts = 0
  for (const message of itemsOf(conversation)) {
    const members = membersOf(message)
    const own = lists.reduce((sum, name) => sum + itemsOf(members[name]).length, 0)
    parts += Math.max(own, 1)
  }
  return parts > MOST_PARTS ? `has more than ${MOST_PARTS} parts` : undefined
}

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
