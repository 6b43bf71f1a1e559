import { isObject, itemsOf, membersOf } from '#shared/json.ts'
import type { Problems } from '../shape.ts'

/** Most explicit cache breakpoints of a body. */
const MAX_BREAKPOINTS = 4

type Path = readonly (string | number)[]

interface Body {
  readonly tools?: unknown
  readonly system?: unknown
  readonly messages?: unknown
}

/**
 * Reports the first tool or block that has a breakpoint too many. The one for the whole body does not count. The lists
 * may hold anything, since this also looks at bodies that have other problems.
 */
export function fewBreakpoints({ tools, system, messages }: Body, problems: Problems): void {
  let left = MAX_BREAKPOINTS
  for (const path of [
    ...breakpointsIn(tools, ['tools']),
    ...breakpointsIn(system, ['system']),
    ...inMessages(messages),
  ]) {
    if (left-- > 0) continue
    const message = `is one too many: tools, system and messages must have at most ${MAX_BREAKPOINTS} together`
    problems.addIssue({ code: 'custom', path: [...path, 'cache_control'], message })
    return
  }
}

function* inMessages(messages: unknown): Iterable<Path> {
  for (const [i, message] of itemsOf(messages).entries()) {
    yield* breakpointsIn(membersOf(message).content, ['messages', i, 'content'])
  }
}

/** The paths of what has one in a list: of a result its blocks, too. */
function* breakpointsIn(list: unknown, at: Path): Iterable<Path> {
  for (const [i, one] of itemsOf(list).entries()) {
    if (!isObject(one)) continue
    if (one.type === 'tool_result') yield* breakpointsIn(one.content, [...at, i, 'content'])
    if (isObject(one.cache_control)) yield [...at, i]
  }
}
