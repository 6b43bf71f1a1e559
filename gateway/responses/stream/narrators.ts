import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { type ItemPlace, refusalContent, textContent } from '../from-part.ts'
import type { Logprobs, OutputItem } from '../output.ts'
import type { DeltaPrefix, ResponsesFrames } from './frames.ts'

/** Writes the events of one kind of item, apart from the common ones (added, done). */
export interface Narrator {
  /** After the item was added; returns the beginnings of the events of its growth. */
  begin(frames: ResponsesFrames, place: ItemPlace, item: OutputItem): DeltaPrefix | undefined
  /** The item grew by a text whose tokens have log probabilities. Without it they are not shown. */
  tokens?(frames: ResponsesFrames, place: ItemPlace, item: OutputItem, text: string, tokens: Logprobs): void
  /** Before the item is done. */
  end(frames: ResponsesFrames, place: ItemPlace, item: OutputItem): void
}

/** Where an item is in OpenAI's schema. */
function ofItem({ index }: ItemPlace, { id }: OutputItem) {
  return { item_id: String(id), output_index: index }
}

/** Where the one part of an item is, in OpenAI's schema. */
function inContent(place: ItemPlace, item: OutputItem) {
  return { ...ofItem(place, item), content_index: 0 }
}

/** Where the one part of a message is, in the specification. */
function specified({ responseId, index }: ItemPlace) {
  return { response_id: responseId, output_index: index, content_index: 0 }
}

const message: Narrator = {
  begin(frames, place, item) {
    const members = { ...specified(place), part: textContent('') }
    frames.shared('response.content_part.added', members, { item_id: String(item.id) })
    return frames.prefix('response.output_text.delta', { ...inContent(place, item), logprobs: [] }, specified(place))
  },
  tokens(frames, place, item, delta, logprobs) {
    frames.schema('response.output_text.delta', { ...inContent(place, item), logprobs, delta })
    frames.specified('response.content_part.delta', { ...specified(place), delta })
  },
  end(frames, place, item) {
    const part = item.type === 'message' ? item.content[0] : undefined
    if (part?.type !== 'output_text') return
    const at = inContent(place, item)
    for (const [annotation_index, annotation] of part.annotations.entries()) {
      frames.schema('response.output_text.annotation.added', { ...at, annotation_index, annotation })
    }
    frames.schema('response.output_text.done', { ...at, text: part.text, logprobs: part.logprobs })
    frames.schema('response.content_part.done', { ...at, part })
  },
}

const refusal: Narrator = {
  begin(frames, place, item) {
    const members = { ...specified(place), part: refusalContent('') }
    frames.shared('response.content_part.added', members, { item_id: String(item.id) })
    return frames.prefix('response.refusal.delta', inContent(place, item), specified(place))
  },
  end(frames, place, item) {
    const part = item.type === 'message' ? item.content[0] : undefined
    if (part?.type !== 'refusal') return
    const at = inContent(place, item)
    frames.schema('response.refusal.done', { ...at, refusal: part.refusal })
    frames.schema('response.content_part.done', { ...at, part })
  },
}

const thought: Narrator = {
  begin(frames, place, item) {
    const at = inContent(place, item)
    const part = { type: 'reasoning_text', text: '' } as const
    frames.schema('response.content_part.added', { response_id: place.responseId, ...at, part })
    return frames.prefix('response.reasoning_text.delta', at)
  },
  end(frames, place, item) {
    const part = (item.type === 'reasoning' ? item.content?.[0] : undefined) ?? { type: 'reasoning_text', text: '' }
    const at = inContent(place, item)
    frames.schema('response.reasoning_text.done', { ...at, text: part.text })
    frames.schema('response.content_part.done', { ...at, part })
  },
}

const summary: Narrator = {
  begin(frames, place, item) {
    const at = { ...ofItem(place, item), summary_index: 0 }
    frames.schema('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } })
    return frames.prefix('response.reasoning_summary_text.delta', at)
  },
  end(frames, place, item) {
    const part = (item.type === 'reasoning' ? item.summary[0] : undefined) ?? { type: 'summary_text', text: '' }
    const at = { ...ofItem(place, item), summary_index: 0 }
    frames.schema('response.reasoning_summary_text.done', { ...at, text: part.text })
    frames.schema('response.reasoning_summary_part.done', { ...at, part })
  },
}

const call: Narrator = {
  begin: (frames, place, item) =>
    item.type === 'custom_tool_call'
      ? frames.prefix('response.custom_tool_call_input.delta', ofItem(place, item))
      : frames.prefix('response.function_call_arguments.delta', ofItem(place, item)),
  end(frames, place, item) {
    const at = ofItem(place, item)
    if (item.type === 'custom_tool_call')
      frames.schema('response.custom_tool_call_input.done', { ...at, input: item.input })
    if (item.type !== 'function_call') return
    const { name, arguments: text } = item
    frames.schema('response.function_call_arguments.done', { ...at, name, arguments: text })
  },
}

/** The events of items that come whole, by the type of the item. */
const STAGES = {
  web_search_call: ['in_progress', 'searching', 'completed'],
  file_search_call: ['in_progress', 'searching', 'completed'],
  code_interpreter_call: ['in_progress', 'interpreting', 'completed'],
  mcp_call: ['in_progress', 'completed'],
} as const

/** An item of a hosted tool comes whole. */
const foreign: Narrator = {
  begin: () => undefined,
  end(frames, place, item) {
    const at = ofItem(place, item)
    switch (item.type) {
      case 'web_search_call':
      case 'file_search_call':
        for (const stage of STAGES[item.type]) frames.schema(`response.${item.type}.${stage}`, at)
        break
      case 'code_interpreter_call':
        for (const stage of STAGES[item.type]) frames.schema(`response.${item.type}.${stage}`, at)
        break
      case 'mcp_call':
        for (const stage of STAGES[item.type]) frames.schema(`response.${item.type}.${stage}`, at)
    }
  },
}

/** A picture comes whole. */
const picture: Narrator = {
  begin: () => undefined,
  end(frames, place, item) {
    const at = ofItem(place, item)
    for (const stage of ['in_progress', 'generating'] as const) {
      frames.schema(`response.image_generation_call.${stage}`, at)
    }
    const isWhole = item.type === 'image_generation_call' && item.status === 'completed'
    if (isWhole) frames.schema('response.image_generation_call.completed', at)
  },
}

/** By the kind of the part; a kind without one has no form in a response. */
export const NARRATORS: { readonly [kind in Kind]?: Narrator } = {
  [Kind.TEXT]: message,
  [Kind.REFUSAL]: refusal,
  [Kind.REASONING]: thought,
  [Kind.REASONING_SUMMARY]: summary,
  [Kind.TOOL_CALL]: call,
  [Kind.IMAGE]: picture,
  [Kind.FOREIGN]: foreign,
}
