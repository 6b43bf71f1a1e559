import type { FeedItem } from './workspace-feed.ts'

/** What an event costs beside what it says. */
const BASE = 300
const MEMBER = 8

/** Characters that an item keeps in memory, about. */
export function sizeOf(item: FeedItem): number {
  return BASE + (item.type === 'event' || item.type === 'volatile' ? charactersOf(item.event.data) : 0)
}

function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let characters = 0
  for (const member of Object.values(value)) characters += MEMBER + charactersOf(member)
  return characters
}
