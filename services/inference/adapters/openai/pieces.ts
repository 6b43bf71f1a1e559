import type { MediaPart, Part, ToolCallPart } from '#gen/portico/inference/v1/inference_pb.js'
import type { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { Omissions } from '#services/inference/domain/left-out.ts'
import { base64, inline, toUrl } from '../http/data-url.ts'
import { objectAt, wordAt } from '../http/json.ts'
import type { ChatProfile } from './dialect.ts'

type Item = Record<string, unknown>

/** The names that chat completions have for formats of sound, by media type. */
const AUDIO_FORMATS: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/vnd.wave', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
  ['audio/flac', 'flac'],
  ['audio/mp4', 'm4a'],
  ['audio/m4a', 'm4a'],
  ['audio/ogg', 'ogg'],
  ['audio/aac', 'aac'],
  ['audio/aiff', 'aiff'],
  ['audio/opus', 'opus'],
  ['audio/l16', 'pcm16'],
  ['audio/l24', 'pcm24'],
])

/** What the conversion of a conversation also needs. */
export interface ChatContext {
  readonly profile: ChatProfile
  readonly flat: FlatTools
  readonly omissions: Omissions
  /** The formats of proofs that the server wants back. */
  readonly formats: readonly string[]
}

/** The content of a message, whose parts are `at` a path: a string if it is only text, else a list of pieces. */
export function contentOf(parts: readonly Part[], at: string, context: ChatContext): string | Item[] {
  const [first] = parts
  const hasMark = first !== undefined && isMarked(first, context)
  if (parts.length === 1 && first?.part.case === 'text' && !hasMark) return first.part.value.text
  return parts.flatMap((part, i) => piecesOf(part, `${at}[${i}]`, context))
}

/** OpenAI caches automatically and refuses markers; what most other servers do with one is unknown. */
function isMarked({ cacheControl }: Part, { profile: { dialect } }: ChatContext): boolean {
  return cacheControl !== undefined && dialect !== 'openai' && (dialect === 'openrouter' || !cacheControl.hint)
}

/** The piece of a content that a part is; none: it is left out. */
export function piecesOf(part: Part, at: string, context: ChatContext): Item[] {
  const piece = pieceOf(part, at, context)
  if (piece === undefined) return []
  if (!isMarked(part, context)) return [piece]
  const { ttl } = part.cacheControl ?? {}
  return [{ ...piece, cache_control: { type: 'ephemeral', ...(ttl ? { ttl } : {}) } }]
}

function pieceOf({ part }: Part, at: string, context: ChatContext): Item | undefined {
  const { profile, omissions } = context
  switch (part.case) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: part.value.text }
    case 'image': {
      const detail = part.value.detail ? { detail: part.value.detail } : {}
      return { type: 'image_url', image_url: { url: toUrl(part.value, 'image/png'), ...detail } }
    }
    case 'file': {
      const name = part.value.name ? { filename: part.value.name } : {}
      return { type: 'file', file: { ...name, file_data: toUrl(part.value) } }
    }
    case 'audio':
      return sound(part.value, at, context)
    case 'video':
      if (profile.dialect !== 'openai') return { type: 'video_url', video_url: { url: toUrl(part.value, 'video/mp4') } }
      omissions.add(at, 'This provider does not support video: it was left out')
      return undefined
    default:
      return undefined
  }
}

/** OpenAI accepts two formats of sound, and nobody its address. */
function sound(media: MediaPart, at: string, { profile, omissions }: ChatContext): Item | undefined {
  const { source, mime } = inline(media)
  const type = mime || 'unknown'
  const format = audioFormatOf(type)
  const isTaken = format !== undefined && (profile.dialect !== 'openai' || format === 'wav' || format === 'mp3')
  if (isTaken && source.case === 'data')
    return { type: 'input_audio', input_audio: { data: base64(source.value), format } }
  const what = source.case === 'data' ? `of the type ${type.slice(0, 64)}` : 'by its address'
  omissions.add(at, `This provider does not support sound ${what}: it was left out`)
  return undefined
}

/** The format of a media type; undefined: chat completions have no name for it. */
function audioFormatOf(mime: string): string | undefined {
  const [type = ''] = mime.toLowerCase().split(';')
  return AUDIO_FORMATS.get(type.trim().replace('/x-', '/'))
}

type Proof = Pick<ToolCallPart, 'signature' | 'format'>

/** Members of `extra_content` that contain proofs of calls, and the formats of these: Vertex has used both. */
const FORMATS: ReadonlyMap<string, string> = new Map([
  ['google', 'google-gemini-v1'],
  ['vertex', 'google-vertex-v1'],
])
const MEMBERS = new Map([...FORMATS].map(([member, format]) => [format, member]))
const MAX_MEMBER = 64

/** The formats of proofs that a server wants back for a model: Google's own servers, or a proxy before them. */
export function proofFormats({ dialect, isGoogle }: ChatProfile, modelId: string): readonly string[] {
  const isBehindProxy = dialect === 'compatible' && /gemini/i.test(modelId)
  return isGoogle || isBehindProxy ? [...FORMATS.values()] : []
}

/** The proof in the `extra_content` of a call. That of an unknown maker is kept, too, but nobody gets it back. */
export function readProof(extra: unknown): Proof {
  for (const [member, value] of Object.entries(objectAt(extra) ?? {})) {
    const signature = wordAt(objectAt(value)?.thought_signature)
    if (signature === undefined) continue
    return { signature, format: FORMATS.get(member) ?? `extra_content.${member.slice(0, MAX_MEMBER)}` }
  }
  return {}
}

/** The members of a call that give its proof back; `formats`: those that the server wants. */
export function writeProof({ signature, format = '' }: Proof, formats: readonly string[]): Record<string, unknown> {
  const member = formats.includes(format) ? MEMBERS.get(format) : undefined
  return signature && member !== undefined ? { extra_content: { [member]: { thought_signature: signature } } } : {}
}
