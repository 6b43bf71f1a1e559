import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ReasoningPartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { openItem } from '../generation/sealed-item.ts'
import type { AssistantMessage, InputDetail } from './messages.ts'
import type { PlacedPart } from './to-parts.ts'

type Detail = Exclude<InputDetail, { type: 'reasoning.server_tool_call' }>
type Thought = {
  -readonly [K in 'text' | 'summary' | 'signature' | 'encrypted' | 'id' | 'format']?: string
} & MessageInitShape<typeof ReasoningPartSchema>

/** A provider's proof of a tool call. */
interface Proof {
  readonly signature: string
  readonly format: string | undefined
}

/**
 * What an assistant message says that the model thought: its details, which may be the pieces of a stream, put together
 * again; without any of a thought its words. `proofs`: those of its tool calls, by the id of the call.
 */
export function toThoughts(
  message: AssistantMessage,
  at: string,
): { thoughts: PlacedPart[]; proofs: Map<string, Proof> } {
  const { reasoning, reasoning_content: content, reasoning_details: details, tool_calls: calls } = message
  const thoughts: PlacedPart[] = []
  const proofs = new Map<string, Proof>()
  const callIds = new Set(calls?.map(({ id }) => id))
  let open: { readonly index: number | undefined; readonly thought: Thought } | undefined
  for (const [i, detail] of (details ?? []).entries()) {
    if (detail.type === 'reasoning.server_tool_call') continue
    const path = `${at}.reasoning_details.${i}`
    const index = detail.index ?? undefined
    if (detail.type === 'reasoning.encrypted') {
      const format = detail.format || undefined
      if (detail.id && callIds.has(detail.id)) {
        proofs.set(detail.id, { signature: detail.data, format })
        continue
      }
      const item = openItem(detail.data)
      if (item !== undefined) {
        thoughts.push({ part: { part: { case: 'foreign', value: { format: format ?? '', item } } }, path })
        open = undefined
        continue
      }
    }
    if (open !== undefined && continues(open.thought, open.index, detail)) add(open.thought, detail)
    else {
      const thought: Thought = {}
      open = { index, thought }
      add(thought, detail)
      thoughts.push({ part: { part: { case: 'reasoning', value: thought } }, path })
    }
  }
  const words = reasoning || content
  if (thoughts.length === 0 && words) {
    const part = { part: { case: 'reasoning', value: { text: words } } } as const
    thoughts.push({ part, path: `${at}.${reasoning ? 'reasoning' : 'reasoning_content'}` })
  }
  return { thoughts: thoughts.filter(({ part }) => part.part?.case !== 'reasoning' || says(part.part.value)), proofs }
}

/** Whether a detail belongs to the thought before it: both have the same number or, without numbers, do not differ. */
function continues(thought: Thought, index: number | undefined, detail: Detail): boolean {
  if (detail.id && thought.id && detail.id !== thought.id) return false
  if (detail.format && thought.format && detail.format !== thought.format) return false
  if (thought.encrypted !== undefined) return false
  if (index !== undefined && detail.index != null) return index === detail.index
  if (detail.type === 'reasoning.encrypted') return Boolean(detail.id) && detail.id === thought.id
  const word = detail.type === 'reasoning.text' ? thought.text : thought.summary
  return word !== undefined && thought.signature === undefined
}

function add(thought: Thought, detail: Detail): void {
  if (detail.id) thought.id ??= detail.id
  if (detail.format) thought.format ??= detail.format
  switch (detail.type) {
    case 'reasoning.text':
      if (detail.text) thought.text = (thought.text ?? '') + detail.text
      if (detail.signature) thought.signature = (thought.signature ?? '') + detail.signature
      break
    case 'reasoning.summary':
      thought.summary = (thought.summary ?? '') + detail.summary
      break
    case 'reasoning.encrypted':
      thought.encrypted = detail.data
  }
}

/** A thought without words and proofs is left out. */
function says({ text, summary, signature, encrypted }: MessageInitShape<typeof ReasoningPartSchema>): boolean {
  return Boolean(text || summary || signature || encrypted)
}
