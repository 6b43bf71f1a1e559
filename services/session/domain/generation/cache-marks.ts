import type { ModelMessage, ModelPart } from './generation.ts'

/**
 * The parts behind which a provider is to cache all that comes before: the last of the instructions, and of each of the
 * two newest turns that the model did not make. The last but one was marked by the request before, which is found again
 * there however much lies between. With the marker on the tools these are four, the most that a provider takes.
 */
export function cacheMarks(messages: readonly ModelMessage[]): ReadonlySet<ModelPart> {
  const marks = new Set<ModelPart>()
  const instructions = messages[0]?.role === 'system' ? messages[0].parts.at(-1) : undefined
  if (instructions !== undefined) marks.add(instructions)
  let newest = 0
  for (let i = messages.length - 1; i > 0 && newest < MARKED_TURNS; i--) {
    const { role, parts } = messages[i] as ModelMessage
    const last = parts.at(-1)
    if ((role !== 'user' && role !== 'tool') || last === undefined || isBlank(last)) continue
    marks.add(last)
    newest++
  }
  return marks
}

const MARKED_TURNS = 2

/** A provider would refuse a marker on it. */
function isBlank(part: ModelPart): boolean {
  return part.type === 'text' && part.text.trim() === ''
}
