import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  MediaPartSchema,
  Message_Role,
  type MessageSchema,
  type PartSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { ModelContent, ModelMessage, ModelPart } from '#services/session/domain/generation/generation.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { limitOf } from '#shared/rpc/field-limits.ts'

/** The content of files, by its hash. */
export type Blobs = ReadonlyMap<string, Uint8Array>
type PartInit = Required<Pick<MessageInitShape<typeof PartSchema>, 'part'>>

/** Names of imported files, and addresses in their place, may be longer; no run fails because of one. */
const { most: MAX_NAME } = limitOf(MediaPartSchema.field.name)

const roles = enumTable({
  system: Message_Role.SYSTEM,
  user: Message_Role.USER,
  assistant: Message_Role.ASSISTANT,
  tool: Message_Role.TOOL,
})

/** Requests that everything before it be cached, where that is known to be supported. */
export const MARKER = { hint: true } as const

/** A message as the inference service takes it, with markers behind those parts. */
export function toMessage(
  { role, parts }: ModelMessage,
  blobs: Blobs,
  marks: ReadonlySet<ModelPart>,
): MessageInitShape<typeof MessageSchema> {
  const marked = (part: ModelPart) => {
    const init = toPart(part, blobs)
    return marks.has(part) ? { ...init, cacheControl: MARKER } : init
  }
  return { role: roles.toProto(role), parts: parts.map(marked) }
}

function toPart(part: ModelPart, blobs: Blobs): PartInit {
  switch (part.type) {
    case 'reasoning':
      return { part: { case: 'reasoning', value: part.thought } }
    case 'tool-call':
      return { part: { case: 'toolCall', value: { callId: part.callId, name: part.name, arguments: part.arguments } } }
    case 'tool-result': {
      const content = part.content.map((inner) => toContent(inner, blobs))
      return { part: { case: 'toolResult', value: { callId: part.callId, content, failed: part.failed } } }
    }
    default:
      return toContent(part, blobs)
  }
}

function toContent(content: ModelContent, blobs: Blobs): PartInit {
  if (content.type === 'text') return { part: { case: 'text', value: { text: content.text } } }
  const { blob, mime, name = '' } = content
  const data = blobs.get(blob.hash)
  if (data === undefined) {
    return { part: { case: 'text', value: { text: `(A file of type ${mime} was here: ${name || 'no name'}.)` } } }
  }
  if (isText(mime)) {
    const text = new TextDecoder().decode(data)
    return { part: { case: 'text', value: { text: name === '' ? text : `<file name="${name}">\n${text}\n</file>` } } }
  }
  const source = { case: 'data', value: data as Uint8Array<ArrayBuffer> } as const
  const value = { source, mime, name: name.slice(0, MAX_NAME) }
  return { part: { case: mime.startsWith('image/') ? 'image' : 'file', value } }
}

/** Every model reads text; not every one takes it as a file. */
function isText(mime: string): boolean {
  return mime.startsWith('text/') || mime === 'application/json' || mime === 'application/x-directory'
}
