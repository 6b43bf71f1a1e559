import {
  type CacheControl,
  type GenerationRequest,
  type Message,
  type Part,
  Message_Role as Role,
  type Tool,
} from '#gen/portico/inference/v1/inference_pb.js'
import { isObject } from '#shared/json.ts'

/** Maximum number of cache markers in a request; providers refuse more. */
const MAX_MARKERS = 4

/**
 * Returns the conversation with a marker on its last cacheable piece, so that the provider caches everything. A request
 * that has a marker there, or as many as are allowed, is left unchanged.
 */
export function withCacheMarker(
  request: Pick<GenerationRequest, 'messages' | 'tools' | 'hostedTools'>,
  cacheControl: CacheControl,
): Message[] {
  const { messages } = request
  // Instructions precede the conversation, wherever they were given.
  const place =
    lastCacheable(messages, ({ role }) => role !== Role.SYSTEM) ??
    lastCacheable(messages, ({ role }) => role === Role.SYSTEM)
  if (place === undefined || place.part.cacheControl !== undefined || markersOf(request) >= MAX_MARKERS) return messages
  return messages.map((message, i) => {
    if (i !== place.message) return message
    return { ...message, parts: message.parts.map((part) => (part === place.part ? { ...part, cacheControl } : part)) }
  })
}

function lastCacheable(
  messages: readonly Message[],
  among: (message: Message) => boolean,
): { readonly message: number; readonly part: Part } | undefined {
  const at = messages.findLastIndex((message) => among(message) && message.parts.some(isCacheable))
  const part = messages[at]?.parts.findLast(isCacheable)
  return part && { message: at, part }
}

/**
 * Empty texts and thoughts accept no marker, and parts that not every provider accepts may be left out together with
 * it.
 */
function isCacheable({ part }: Part): boolean {
  switch (part.case) {
    case 'text':
    case 'refusal':
      return part.value.text.trim() !== ''
    case 'reasoning':
    case 'foreign':
    case 'audio':
    case 'video':
      return false
    default:
      return true
  }
}

/** How many cache markers a request has. */
export function markersOf({ messages, tools, hostedTools }: Parameters<typeof withCacheMarker>[0]): number {
  const inParts = (parts: readonly Part[]): number => parts.reduce((sum, part) => sum + markersIn(part), 0)
  const markersIn = ({ part, cacheControl }: Part): number => {
    const inner = part.case === 'toolResult' ? inParts(part.value.content) : 0
    const own = cacheControl !== undefined || (part.case === 'foreign' && isObject(part.value.item?.cache_control))
    return inner + (own ? 1 : 0)
  }
  const onTools = tools.filter(({ cacheControl }) => cacheControl !== undefined).length
  const onHosted = hostedTools.filter(({ definition }) => isObject(definition?.cache_control)).length
  return messages.reduce((sum, { parts }) => sum + inParts(parts), onTools + onHosted)
}

export function withHintsAs<R extends GenerationRequest>(request: R, cacheControl: CacheControl): R {
  const confirmed = <T extends Part | Tool>(target: T): T =>
    target.cacheControl?.hint ? { ...target, cacheControl } : target
  const messages = request.messages.map((message) => ({ ...message, parts: message.parts.map(confirmed) }))
  return { ...request, messages, tools: request.tools.map(confirmed) }
}
