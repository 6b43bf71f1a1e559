import { create } from '@bufbuild/protobuf'
import { type LogProbability, LogProbabilitySchema } from '#gen/portico/inference/v1/inference_pb.js'
import { listAt, objectAt, textAt } from '../http/json.ts'

/** Log probabilities of tokens, in the format that chat completions and responses share; undefined: there are none. */
export function logProbabilitiesOf(value: unknown): LogProbability[] | undefined {
  const tokens = listAt(value).flatMap((item) => {
    const token = objectAt(item)
    return token === undefined ? [] : [probabilityOf(token, listAt(token.top_logprobs))]
  })
  return tokens.length === 0 ? undefined : tokens
}

/** An almost impossible token has -9999 instead of a number that JSON lacks. */
function probabilityOf(item: Readonly<Record<string, unknown>>, others: readonly unknown[] = []): LogProbability {
  const { token, logprob, bytes } = item
  return create(LogProbabilitySchema, {
    token: textAt(token),
    logProbability: typeof logprob === 'number' && Number.isFinite(logprob) ? logprob : -9999,
    tokenBytes: Array.isArray(bytes) && bytes.length > 0 ? Uint8Array.from(bytes as number[]) : undefined,
    alternatives: others.map((other) => probabilityOf(objectAt(other) ?? {})),
  })
}
