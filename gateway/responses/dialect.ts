import { z } from 'zod'
import { generationHeaders } from '../generation/call.ts'

const DIALECTS = ['both', 'openai', 'specification'] as const

/**
 * Which events a stream of responses has: those of the specification, those of OpenAI's schema, or both, where the events that
 * both know come once, with the members of both (gateway facts 1.7).
 */
export type ResponsesDialect = (typeof DIALECTS)[number]

/** Headers that `POST /api/v1/responses` looks at. */
export const responsesHeaders = z.object({
  'x-stream-dialect': z
    .enum(DIALECTS)
    .optional()
    .meta({ description: 'Which events the stream contains; default: openai for the OpenAI SDKs, else both' }),
  'x-stainless-lang': z.string().optional().meta({ description: 'Sent by the OpenAI SDKs' }),
  ...generationHeaders,
})

type Headers = z.output<typeof responsesHeaders>

/**
 * The dialect that a client asks for by `x-stream-dialect`; without it `openai` for the OpenAI SDKs, whose stream helper throws at an
 * event that it does not know, else `both`.
 */
export function chooseDialect(headers: Headers): ResponsesDialect {
  return headers['x-stream-dialect'] ?? (headers['x-stainless-lang'] === undefined ? 'both' : 'openai')
}

/**
 * Whether assistant history in structured form needs `id` and `status`, as the specification says. Clients of OpenAI's dialect and
 * Vercel's AI SDK send it without, and could otherwise hold no conversation (gateway facts 1.2.1).
 */
export function wantsHistoryIds(headers: Headers, dialect: ResponsesDialect): boolean {
  return dialect !== 'openai' && !/\bai-sdk\//.test(headers['user-agent'] ?? '')
}
