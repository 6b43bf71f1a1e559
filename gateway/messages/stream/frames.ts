import type { RouterMetadata } from '#gateway/records/router-metadata.ts'
import type { ContentBlock, Ending, MessageObject, MessageUsage } from '../answer.ts'
import type { Delta } from '../events.ts'

/** The unchanging beginning of the events by which one block grows. */
export type DeltaPrefix = string

const GROWING = {
  text: 'text_delta","text',
  thinking: 'thinking_delta","thinking',
  json: 'input_json_delta","partial_json',
}

/** The last state of a message. */
type MessageEnd = { readonly delta: Ending; readonly usage: MessageUsage }

/** Writes the events of one stream as text. Clients find them by their `event:` lines. */
export class MessageFrames {
  #text = ''

  /** What was written since the last call. */
  take(): string {
    const text = this.#text
    this.#text = ''
    return text
  }

  begin(message: MessageObject): void {
    this.#write('message_start', { message })
    this.#write('ping', {})
  }

  start(index: number, block: ContentBlock): void {
    this.#write('content_block_start', { index, content_block: block })
  }

  prefix(index: number, growing: keyof typeof GROWING): DeltaPrefix {
    return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${GROWING[growing]}":`
  }

  /** A block grew. This runs for each word of each stream, so nothing but the word is encoded. */
  grow(prefix: DeltaPrefix, text: string): void {
    this.#text += `${prefix}${JSON.stringify(text)}}}\n\n`
  }

  delta(index: number, delta: Delta): void {
    this.#write('content_block_delta', { index, delta })
  }

  stop(index: number): void {
    this.#write('content_block_stop', { index })
  }

  end(ended: MessageEnd, metadata: RouterMetadata | undefined): void {
    this.#write('message_delta', ended)
    this.#write('message_stop', { openrouter_metadata: metadata })
  }

  /** The last event of a message that broke off. */
  fail(body: object): void {
    this.#text += `event: error\ndata: ${JSON.stringify(body)}\n\n`
  }

  #write(type: string, members: object): void {
    this.#text += `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
  }
}
