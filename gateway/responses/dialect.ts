import { z } from 'zod'
import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import { generationHeaders } from '../generation/request.ts'
import { type ResponsesDialect, responsesDialects } from '../generation/responses-dialect.ts'

/** Headers that `POST /api/v1/responses` looks at. */
export const responsesHeaders = z.object({
  'x-stream-dialect': z.enum(responsesDialects.names).optional().meta({
    description:
      'The events of the stream; default: the key’s setting, else openai below /v1 and for the OpenAI SDKs, else the server’s default',
  }),
  'x-stainless-lang': z.string().optional().meta({ description: 'Sent by the OpenAI SDKs' }),
  ...generationHeaders,
})

type Headers = z.output<typeof responsesHeaders>

/** What determines the dialect of a request besides its headers. */
interface Surroundings {
  /** Whether it came below `/v1`, where OpenAI's clients look. */
  readonly atV1: boolean
  /** The setting of the caller's key; undefined: none. */
  readonly ofKey: KeyTerms['responsesDialect']
  /** The server's setting. */
  readonly byDefault: ResponsesDialect
}

/**
 * The dialect that a client chooses by `x-stream-dialect`; without it that of its key; without one `openai` below `/v1`
 * and for the OpenAI SDKs, whose stream helper throws at an event that it does not know; else what the server is set
 * to.
 */
export function chooseDialect(headers: Headers, { atV1, ofKey, byDefault }: Surroundings): ResponsesDialect {
  const chosen = headers['x-stream-dialect'] ?? responsesDialects.fromProto(ofKey)
  if (chosen !== undefined) return chosen
  return atV1 || headers['x-stainless-lang'] !== undefined ? 'openai' : byDefault
}
