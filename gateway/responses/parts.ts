import { z } from 'zod'
import { MediaPartSchema, MessageSchema, TextPartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { promptCacheBreakpoint } from '../generation/settings.ts'
import { limitedBy, mustBe, typeErrors } from '../shape.ts'

const inputText = z.object({
  type: z.literal('input_text'),
  text: z.string(),
  prompt_cache_breakpoint: promptCacheBreakpoint.nullish(),
})

const noFileId = z.null({ error: 'files are not stored here: send the content or its address' }).optional()

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
  title: z.string().nullish(),
  start_index: z.int32().nullish(),
  end_index: z.int32().nullish(),
  content: z.string().nullish(),
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
export const systemContent = textOr(textPart)
/** Content of a user message. */
export const userContent = textOr(userPart)
/** Content of an assistant message. */
export const assistantContent = textOr(assistantPart)
/** What a tool returned. */
export const resultContent = textOr(resultPart)

function textOr<P extends z.ZodType>(part: P) {
  return z.union(
    [z.string(), limitedBy(MessageSchema.field.parts, z.array(part))],
    mustBe('a string or an array of parts'),
  )
}
