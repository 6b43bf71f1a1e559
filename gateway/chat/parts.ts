import { z } from 'zod'
import { MediaPartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { textOr } from '../generation/content.ts'
import { AUDIO_TYPES } from '../generation/media.ts'
import { cacheControl, promptCacheBreakpoint } from '../generation/settings.ts'
import { limitedBy, mustBe, typeErrors } from '../shape.ts'

/** The two ways to mark the end of a prefix that the provider should cache. */
const marks = { cache_control: cacheControl.nullish(), prompt_cache_breakpoint: promptCacheBreakpoint.nullish() }

const text = z.object({ type: z.literal('text'), text: z.string(), ...marks })
const address = z.string(mustBe('an http(s) URL or a data: URL'))

const image = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: address, detail: z.enum(['auto', 'low', 'high', 'original']).nullish() }),
  ...marks,
})

const audio = z.object({
  type: z.literal('input_audio'),
  input_audio: z.object({
    data: z.string().min(1),
    format: z.enum(Object.keys(AUDIO_TYPES) as (keyof typeof AUDIO_TYPES)[]),
  }),
  ...marks,
})

const videoUrl = z.object({ url: address })
const video = z.object({ type: z.literal('video_url'), video_url: videoUrl, ...marks })
const olderVideo = z.object({ type: z.literal('input_video'), video_url: videoUrl, ...marks })

/** A file, its content or its address. */
export const file = z.object({
  type: z.literal('file'),
  file: z.object({
    filename: limitedBy(MediaPartSchema.field.name, z.string()).nullish(),
    file_data: z.string(mustBe('an http(s) URL or a data: URL')),
    file_id: z.null({ error: 'files are not stored: send the content or its URL as file_data' }).optional(),
  }),
  ...marks,
})

const refusal = z.object({ type: z.literal('refusal'), refusal: z.string() })

const errors = typeErrors((type) => `content of the type "${type.slice(0, 64)}" is not supported here`)
const textPart = z.discriminatedUnion('type', [text], errors)
const anyPart = z.discriminatedUnion('type', [text, image, audio, video, olderVideo, file], errors)
const assistantPart = z.discriminatedUnion('type', [text, refusal, image, audio, video, olderVideo, file], errors)

export type ContentPart = z.output<typeof assistantPart>

/** Content of a system or developer message. */
export const systemContent = textOr(textPart, 'parts')
/** Content of a user message, and of what a tool returned. */
export const anyContent = textOr(anyPart, 'parts')
export const assistantContent = textOr(assistantPart, 'parts')
