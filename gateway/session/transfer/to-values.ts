import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import type { structuredError } from '#gateway/records/error.ts'
import type { tokenUsage } from '#gateway/records/usage.ts'
import type { StructuredErrorSchema } from '#gen/portico/session/v1/message_pb.js'
import type { TokenUsageSchema } from '#gen/portico/session/v1/session_pb.js'

/** What went wrong. */
export function toError(error: z.output<typeof structuredError>): MessageInitShape<typeof StructuredErrorSchema> {
  const { type, message, status, response } = error
  return { type, message, status, responseBody: response?.body }
}

/** Dollars as nano-dollars. */
export function toCost(dollars: number | undefined): { costNanos?: bigint } {
  return dollars === undefined ? {} : { costNanos: BigInt(Math.round(dollars * 1e9)) }
}

/** Token counts. */
export function toTokens(usage: z.output<typeof tokenUsage>): MessageInitShape<typeof TokenUsageSchema> {
  const { input, output, reasoning, cache } = usage
  return {
    input: BigInt(input),
    output: BigInt(output),
    reasoning: BigInt(reasoning),
    cacheRead: BigInt(cache.read),
    cacheWrite: BigInt(cache.write),
  }
}
