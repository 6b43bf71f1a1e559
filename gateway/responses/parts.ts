import { z } from 'zod'
import { byShape, byType, list } from '../shape.ts'

/** Most parts of one message. */
export const MAX_PARTS = 10_000

const breakpoint = z.object({ mode: z.literal('explicit') }).nullish()

const inputText = z.object({
  type: z.literal('input_text'),
  text: z.string(),
  prompt_cache_breakpoint: breakpoint,
})

const noFileId = z.null({ error: 'files are not stored here: send the content or its address' }).optional()

const inputImage = z.object({
  type: z.literal('input_image'),
  image_url: z.string({ error: 'expected an http(s) address or a data: URL' }),
  detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
  file_id: noFileId,
})

const inputFile = z
  .object({
    type: z.literal('input_file'),
    file_data: z.string().nullish(),
    file_url: z.string().nullish(),
    filename: z.string().max(1_024).nullish(),
    file_id: noFileId,
  })
  .refine(({ file_data, file_url }) => (file_data == null) !== (file_url == null), {
    message: 'expected either file_data or file_url',
  })

const inputAudio = z.object({
  type: z.literal('input_audio'),
  input_audio: z.object({ data: z.string().min(1), format: z.enum(['mp3', 'wav']) }),
})

const outputText = z.object({ type: z.literal('output_text'), text: z.string() })
const refused = z.object({ type: z.literal('refusal'), refusal: z.string() })

const unsupported = (type: string): string => `content of the type "${type.slice(0, 64)}" is not supported here`
const textParts = byType({ input_text: inputText }, { unknown: unsupported })
const assistantParts = byType(
  { output_text: outputText, refusal: refused, input_text: inputText },
  { unknown: unsupported },
)
const userParts = byType(
  { input_text: inputText, input_image: inputImage, input_file: inputFile, input_audio: inputAudio },
  { unknown: unsupported },
)
const resultParts = byType(
  { input_text: inputText, input_image: inputImage, input_file: inputFile },
  { unknown: unsupported },
)

/** One part of the content of a message or a tool result. */
export type ContentPart = z.output<typeof userParts> | z.output<typeof assistantParts>

/** Content of a system or developer message. */
export const systemContent = textOr(textParts)
/** Content of a user message. */
export const userContent = textOr(userParts)
/** Content of an assistant message. */
export const assistantContent = textOr(assistantParts)
/** What a tool answered. */
export const resultContent = textOr(resultParts)

function textOr<T>(part: z.ZodType<T>): z.ZodType<string | T[]> {
  const parts = list(part, { most: MAX_PARTS })
  const text = z.string({ error: 'expected a string or a list of parts' })
  return byShape<string | T[]>((value) => (Array.isArray(value) ? parts : text))
}
