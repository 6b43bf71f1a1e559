import type { MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import {
  MediaPartSchema,
  type Part as PartMessage,
  type PartSchema,
  type SourceSchema,
  TextPartSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { textOr } from '../generation/content.ts'
import { mediaFromAudio, mediaFromUrl } from '../generation/media.ts'
import { promptCacheBreakpoint } from '../generation/settings.ts'
import { citationInput, toSource } from '../generation/sources.ts'
import { limitedBy, mustBe, typeErrors } from '../shape.ts'

const inputText = z.object({
  type: z.literal('input_text'),
  text: z.string(),
  prompt_cache_breakpoint: promptCacheBreakpoint.nullish(),
})

const noFileId = z.null({ error: 'files are not stored: send the content or its URL' }).optional()

const inputImage = z.object({
  type: z.literal('input_image'),
  image_url: z.string(mustBe('an http(s) URL or a data: URL')),
  detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
  file_id: noFileId,
})

const inputFile = z
  .object({
    type: z.literal('input_file'),
    file_data: z.string().nullish(),
    file_url: z.string().nullish(),
    filename: limitedBy(MediaPartSchema.field.name, z.string()).nullish(),
    file_id: noFileId,
  })
  .refine(({ file_data, file_url }) => (file_data == null) !== (file_url == null), {
    message: 'must have either file_data or file_url',
  })

const inputAudio = z.object({
  type: z.literal('input_audio'),
  input_audio: z.object({ data: z.string().min(1), format: z.enum(['mp3', 'wav']) }),
})

const inputVideo = z.object({ type: z.literal('input_video'), video_url: z.string() })

/** A source that a text names; those of a form that is not known are passed over. */
const annotation = z.object({
  type: z.string(),
  url: z.string().nullish(),
  ...citationInput,
  index: z.int32().nullish(),
  file_id: z.string().nullish(),
  filename: z.string().nullish(),
})

const outputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: limitedBy(TextPartSchema.field.sources, z.array(annotation)).nullish(),
})
const refusal = z.object({ type: z.literal('refusal'), refusal: z.string() })

const errors = typeErrors((type) => `content of the type "${type.slice(0, 64)}" is not supported here`)
const textPart = z.discriminatedUnion('type', [inputText], errors)
const assistantPart = z.discriminatedUnion('type', [outputText, refusal, inputText], errors)
const userPart = z.discriminatedUnion('type', [inputText, inputImage, inputFile, inputAudio, inputVideo], errors)
const resultPart = z.discriminatedUnion('type', [inputText, inputImage, inputFile], errors)

/** One part of the content of a message or a tool result. */
export type ContentPart = z.output<typeof userPart> | z.output<typeof assistantPart>

/** Content of a system or developer message. */
export const systemContent = textOr(textPart, 'parts')
export const userContent = textOr(userPart, 'parts')
export const assistantContent = textOr(assistantPart, 'parts')
/** What a tool returned. */
export const resultContent = textOr(resultPart, 'parts')

export type MadePart = Exclude<MessageInitShape<typeof PartSchema>, PartMessage>

/** The parts of a content. Rejects with BODY_INVALID where a picture, file or sound cannot be read. */
export function toParts(content: string | readonly ContentPart[], field: string, ttl: string | undefined): MadePart[] {
  if (typeof content === 'string') return [text(content)]
  return content.map((part, i) => toPart(part, `${field}.${i}`, ttl))
}

function toPart(part: ContentPart, field: string, ttl: string | undefined): MadePart {
  switch (part.type) {
    case 'input_text':
      return part.prompt_cache_breakpoint == null ? text(part.text) : { ...text(part.text), cacheControl: { ttl } }
    case 'output_text': {
      const sources = (part.annotations ?? []).flatMap(sourceOf)
      return sources.length === 0 ? text(part.text) : { part: { case: 'text', value: { text: part.text, sources } } }
    }
    case 'refusal':
      return { part: { case: 'refusal', value: { text: part.refusal } } }
    case 'input_image': {
      const media = mediaFromUrl(part.image_url, `${field}.image_url`)
      return { part: { case: 'image', value: { ...media, detail: part.detail ?? undefined } } }
    }
    case 'input_file': {
      const url = part.file_data ?? part.file_url ?? ''
      const media = mediaFromUrl(url, `${field}.${part.file_data == null ? 'file_url' : 'file_data'}`)
      return { part: { case: 'file', value: { ...media, name: part.filename || undefined } } }
    }
    case 'input_video':
      return { part: { case: 'video', value: mediaFromUrl(part.video_url, `${field}.video_url`) } }
    case 'input_audio': {
      const { data, format } = part.input_audio
      return { part: { case: 'audio', value: mediaFromAudio(data, format, `${field}.input_audio.data`) } }
    }
  }
}

/** A part with the phase that the model gave its text. */
export function withPhase(part: MadePart, phase: string | null | undefined): MadePart {
  if (phase == null || (part.part?.case !== 'text' && part.part?.case !== 'refusal')) return part
  return { ...part, part: { ...part.part, value: { ...part.part.value, phase } } }
}

export function text(value: string): MadePart {
  return { part: { case: 'text', value: { text: value } } }
}

function sourceOf(cited: z.output<typeof annotation>): MessageInitShape<typeof SourceSchema>[] {
  const { url, file_id: fileId, filename } = cited
  if (!url && !fileId) return []
  const file = { fileId: fileId ?? undefined, fileName: filename ?? undefined }
  return [{ ...toSource({ ...cited, start_index: cited.start_index ?? cited.index }), url: url ?? undefined, ...file }]
}
