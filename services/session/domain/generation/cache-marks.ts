import { create } from '@bufbuild/protobuf'
import {
  CacheControlSchema,
  type Message,
  type Part,
  Message_Role as Role,
} from '#gen/portico/inference/v1/inference_pb.js'

/** Requests that everything before it be cached, where that is known to be supported. */
export const CACHE_MARK = create(CacheControlSchema, { hint: true })

/**
 * Marks the parts behind which a provider is to cache all that comes before: the last of the instructions, and of each
 * of the two newest turns that the model did not make. The last but one was marked by the request before, which is
 * found again there however much lies between. With the marker on the tools these are four, the most that a provider
 * takes.
 */
export function withCacheMarks(messages: readonly Message[]): Message[] {
  const marks = new Set<Part>()
  const instructions = messages[0]?.role === Role.SYSTEM ? messages[0].parts.at(-1) : undefined
  if (instructions !== undefined) marks.add(instructions)
  let newest = 0
  for (let i = messages.length - 1; i > 0 && newest < MARKED_TURNS; i--) {
    const { role, parts } = messages[i] as Message
    const last = parts.at(-1)
    if ((role !== Role.USER && role !== Role.TOOL) || last === undefined || isBlank(last)) continue
    marks.add(last)
    newest++
  }
  const marked = (part: Part): Part => (marks.has(part) ? { ...part, cacheControl: CACHE_MARK } : part)
  return messages.map((message) => ({ ...message, parts: message.parts.map(marked) }))
}

const MARKED_TURNS = 2

/** A provider would refuse a marker on it. */
function isBlank({ part }: Part): boolean {
  return part.case === 'text' && part.value.text.trim() === ''
}
