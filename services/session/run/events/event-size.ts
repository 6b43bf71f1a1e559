import type { FeedItem } from './workspace-feed.ts'

/** What an event costs beside its texts. */
const BASE = 500

/** Characters that an item keeps in memory, about. */
export function sizeOf(item: FeedItem): number {
  if (item.type !== 'event' && item.type !== 'volatile') return BASE
  const { data } = item.event
  switch (data.type) {
    case 'part-extended':
      return BASE + data.delta.length
    case 'part-ended':
      return BASE + data.text.length
    case 'inbox-enqueued':
      return BASE + data.item.prompt.text.length
    case 'tool-called':
      return BASE + JSON.stringify(data.input).length
    case 'tool-progressed':
      return BASE + JSON.stringify(data.metadata).length
    case 'tool-succeeded':
    case 'tool-failed': {
      const texts = data.content.map((content) => (content.type === 'text' ? content.text.length : BASE))
      return texts.reduce((sum, length) => sum + length, BASE + JSON.stringify(data.metadata ?? {}).length)
    }
    default:
      return BASE
  }
}
