import type { ChatChunk, ChatDelta } from '../chunk.ts'
import type { ChatFinishReason, ChatLogprobs, ChatUsage } from '../completion.ts'
import type { ChatFailure } from '../failure.ts'
import type { ChatSeed } from '../from-generation.ts'

/**
 * The constant pieces of the chunks by which one part grows. They surround the text, which occurs in a chunk once or
 * twice.
 */
export interface Growth {
  readonly before: string
  /** Empty: the text stands there once. */
  readonly between: string
  /** Up to the log probabilities, and with none of them. */
  readonly after: string
  readonly end: string
}

/** Further members of the last chunk. */
export type LastMembers = Pick<ChatChunk, 'usage' | 'service_tier' | 'openrouter_metadata'>

const NOT_OVER = ',"finish_reason":null,"native_finish_reason":null,"logprobs":'
const END = '}]}\n\n'

/** Writes the chunks of one stream as text. */
export class ChatFrames {
  readonly #seed: ChatSeed
  #head = ''
  #text = ''

  constructor(seed: ChatSeed) {
    this.#seed = seed
    this.#head = headOf(seed, { model: seed.model })
  }

  /** What was written since the last call. */
  take(): string {
    const text = this.#text
    this.#text = ''
    return text
  }

  /** Writes the first chunk. */
  begin(model: string, provider: string): void {
    this.#head = headOf(this.#seed, { model, provider })
    this.delta({ role: 'assistant', content: '' })
  }

  /** Something came whole. */
  delta(delta: ChatDelta): void {
    this.#choice(delta, null, null)
  }

  /**
   * The pieces of chunks by which a part grows: `open` and `close` stand in its delta around the text, `between`
   * between two of it.
   */
  growth(open: string, close: string, between = ''): Growth {
    const after = `${close}${NOT_OVER}`
    return { before: `${this.#head}"choices":[{"index":0,"delta":${open}`, between, after, end: `${after}null${END}` }
  }

  /** A part grew. This runs for each word of each stream, so nothing but the word is encoded. */
  grow({ before, between, after, end }: Growth, text: string, logprobs: ChatLogprobs | null): void {
    const json = JSON.stringify(text)
    const words = between === '' ? json : json + between + json
    this.#text += before + words + (logprobs === null ? end : after + JSON.stringify(logprobs) + END)
  }

  /** The generation is over; usage follows in a chunk without a choice, and the mark that the stream is over. */
  end(reason: ChatFinishReason, nativeReason: string | null, last: LastMembers): void {
    this.#choice({}, reason, nativeReason)
    if (Object.values(last).some((member) => member !== undefined)) this.#write({ choices: [], ...last })
    this.#over()
  }

  /** The generation broke off. */
  fail(failure: ChatFailure): void {
    this.#choice({ content: '' }, 'error', null, failure)
    this.#over()
  }

  #choice(
    delta: ChatDelta,
    finish_reason: ChatFinishReason | null,
    native_finish_reason: string | null,
    more: object = {},
  ): void {
    this.#write({ choices: [{ index: 0, delta, finish_reason, native_finish_reason, logprobs: null }], ...more })
  }

  #write(members: Pick<ChatChunk, 'choices'> & { readonly usage?: ChatUsage | undefined }): void {
    this.#text += `${this.#head}${JSON.stringify(members).slice(1)}\n\n`
  }

  #over(): void {
    this.#text += 'data: [DONE]\n\n'
  }
}

function headOf({ id, created }: ChatSeed, who: { readonly model: string; readonly provider?: string }): string {
  return `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, ...who }).slice(0, -1)},`
}
