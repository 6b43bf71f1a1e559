import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Part as PartMessage, PartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { isObject, type JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { fromBase64, mediaFromUrl } from '../generation/media.ts'
import { toCacheControl } from '../generation/to-shared.ts'
import { objectProblem } from '../shape.ts'
import type { CacheMarker, KnownBlock, MessageBlock, ResultBlock } from './blocks.ts'
import { toHidden, toThought } from './thoughts.ts'
import { ANTHROPIC } from './to-settings.ts'

export type Part = Exclude<MessageInitShape<typeof PartSchema>, PartMessage>
type BlockOf<T extends KnownBlock['type']> = Extract<KnownBlock, { readonly type: T }>
type Media = BlockOf<'image' | 'document'>

/** Members that have a place of their own in a part; the others go to Anthropic as they are. */
const MEMBERS = new Set([
  ...[
    'type',
    'text',
    'source',
    'title',
    'thinking',
    'data',
    'id',
    'name',
    'input',
    'tool_use_id',
    'content',
    'is_error',
  ],
  ...['cache_control', 'signature', 'format'],
])

/** A text without more. */
export function textPart(text: string): Part {
  return { part: { case: 'text', value: { text } } }
}

/**
 * The part of a message that a block is: each block is one. Rejects with BODY_INVALID where a picture or document
 * cannot be read.
 */
export function toPart(block: MessageBlock | ResultBlock, field: string): Part {
  if (!isKnown(block)) return foreign(block, field)
  const { cache_control: cache } = block as { readonly cache_control?: CacheMarker | null }
  const part = bare(block, field)
  const own = block.type === 'text' ? { ...block, citations: ownCitations(block) } : block
  const more = Object.entries(own).filter(([name, value]) => !MEMBERS.has(name) && value != null)
  return {
    ...part,
    providerMetadata: more.length === 0 ? undefined : { [ANTHROPIC]: passedOn(Object.fromEntries(more), field) },
    cacheControl: toCacheControl(cache),
  }
}

const BLOCK_TYPES: ReadonlySet<string> = new Set<KnownBlock['type']>([
  ...(['text', 'image', 'document', 'thinking', 'redacted_thinking', 'tool_use', 'tool_result'] as const),
])

function isKnown(block: MessageBlock | ResultBlock): block is KnownBlock {
  return BLOCK_TYPES.has(block.type)
}

function bare(block: KnownBlock, field: string): Part {
  switch (block.type) {
    case 'text':
      return { part: { case: 'text', value: { text: block.text, sources: sourcesOf(block) } } }
    case 'image':
    case 'document':
      return media(block, field)
    case 'thinking':
      return { part: { case: 'reasoning', value: toThought(block.thinking, block.signature ?? '', false) } }
    case 'redacted_thinking':
      return { part: toHidden(block.data) }
    case 'tool_use': {
      const { id: callId, name, input, signature, format } = block
      const proof = { signature: signature ?? undefined, format: format ?? undefined }
      return { part: { case: 'toolCall', value: { callId, name, arguments: argumentsOf(input ?? {}), ...proof } } }
    }
    case 'tool_result': {
      const { tool_use_id: callId, content, is_error: failed } = block
      const parts = typeof content === 'string' ? [textPart(content)] : (content ?? []).map(inner(`${field}.content`))
      return { part: { case: 'toolResult', value: { callId, content: parts, failed: failed === true } } }
    }
  }
}

/** Arguments that are no JSON object go back as the model wrote them (`inputOf` in from-part.ts). */
function argumentsOf(input: object): string {
  const [[name, text] = [], another] = Object.entries(input)
  return another === undefined && name === 'INVALID_JSON' && typeof text === 'string' ? text : JSON.stringify(input)
}

const inner =
  (field: string) =>
  (block: ResultBlock, i: number): Part =>
    toPart(block, `${field}.${i}`)

function citationsOf({ citations }: BlockOf<'text'>): readonly Record<string, unknown>[] {
  return Array.isArray(citations) ? citations.filter(isObject) : []
}

/** A citation made from another provider's source lacks Anthropic's index, and Anthropic would refuse it. */
function ownCitations(block: BlockOf<'text'>): object | undefined {
  const own = citationsOf(block).filter((citation) => citation.encrypted_index !== '')
  return own.length === 0 ? undefined : own
}

/** The addresses that a text of the history rests on. */
function sourcesOf(block: BlockOf<'text'>): { url: string; title?: string; citedText?: string }[] {
  return citationsOf(block).flatMap(({ url, title, cited_text: citedText }) => {
    if (typeof url !== 'string') return []
    return [{ url, ...(typeof title === 'string' && { title }), ...(typeof citedText === 'string' && { citedText }) }]
  })
}

/** Documents stored at Anthropic, or split into passages to cite, cannot be sent to other providers. */
function media(block: Media, field: string): Part {
  const { type, source } = block
  const name = type === 'document' ? { name: block.title || undefined } : {}
  const part = type === 'image' ? 'image' : 'file'
  switch (source.type) {
    case 'url':
      return { part: { case: part, value: { ...mediaFromUrl(source.url, `${field}.source.url`), ...name } } }
    case 'base64': {
      const data = fromBase64(source.data, `${field}.source.data`)
      return {
        part: { case: part, value: { source: { case: 'data', value: data }, mime: source.media_type, ...name } },
      }
    }
    case 'text': {
      const data = Buffer.from(source.data)
      return { part: { case: part, value: { source: { case: 'data', value: data }, mime: 'text/plain', ...name } } }
    }
    default:
      return foreign(block, field)
  }
}

function foreign(item: object, field: string): Part {
  return { part: { case: 'foreign', value: { format: ANTHROPIC, item: passedOn(item, field) } } }
}

/** Data that is passed on unchanged. Rejects with BODY_INVALID if it cannot be. */
export function passedOn(value: object, field: string): JsonObject {
  const problem = objectProblem(value)
  if (problem !== undefined) throw new Rejection('BODY_INVALID', { field, problem })
  return value as JsonObject
}
