import type { CacheControl, Message } from './conversation.ts'

/** The conversation with a marker at its very end, which asks the provider to cache all there is; one that has a marker there keeps it. */
export function withCacheMarker(messages: readonly Message[], cache: CacheControl): readonly Message[] {
  const last = messages.at(-1)
  const part = last?.parts.at(-1)
  if (last === undefined || part === undefined || part.cache !== undefined) return messages
  return [...messages.slice(0, -1), { ...last, parts: [...last.parts.slice(0, -1), { ...part, cache }] }]
}
