import type { LogProbability } from '#services/inference/domain/generation.ts'
import { listAt, objectAt, textAt } from '../http/json.ts'

/** Log probabilities of tokens, in the format that chat completions and responses share; undefined: there are none. */
export function logProbabilitiesOf(value: unknown): LogProbability[] | undefined {
  const tokens = listAt(value).flatMap((item) => {
    const token = objectAt(item)
    return token === undefined ? [] : [{ ...probabilityOf(token), alternatives: alternativesOf(token.top_logprobs) }]
  })
  return tokens.length === 0 ? undefined : tokens
}

function alternativesOf(value: unknown): LogProbability[] {
  return listAt(value).map((item) => ({ ...probabilityOf(objectAt(item) ?? {}), alternatives: [] }))
}

/** An almost impossible token has -9999 instead of a number that JSON lacks. */
function probabilityOf({ token, logprob, bytes }: Readonly<Record<string, unknown>>) {
  const known = Array.isArray(bytes) && bytes.length > 0
  return {
    token: textAt(token),
    logProbability: typeof logprob === 'number' && Number.isFinite(logprob) ? logprob : -9999,
    ...(known ? { bytes: Uint8Array.from(bytes as number[]) } : {}),
  }
}
