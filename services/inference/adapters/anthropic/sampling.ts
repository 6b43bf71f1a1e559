import type { Warning } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import { warningOf } from '#services/inference/domain/left-out.ts'
import { models } from './known-models.ts'
import { thinkingOf } from './thinking.ts'

const THINKING = 'A model that thinks does not support this setting: it was left out'
const DECIDING = 'This model decides that itself: it was left out'

interface Drawn {
  /** Of the body; undefined ones are omitted. */
  readonly members: Readonly<Record<string, unknown>>
  readonly warnings: readonly Warning[]
}

/** How the answer is sampled, as far as the API supports it, and the settings that it does not support. */
export function samplingOf(request: ProviderRequest): Drawn {
  const { temperature, topP, topK, stop = [] } = request.sampling ?? {}
  const warnings: Warning[] = []
  const warn = (field: string, message: string): void => void warnings.push(warningOf(`sampling.${field}`, message))
  const stops = stop.filter((text) => text.trim() !== '')
  if (stops.length < stop.length) warn('stop', 'Texts that are only white space are not supported: they were left out')
  const stop_sequences = stops.length === 0 ? undefined : stops
  if (models.decides(request.modelId)) {
    if (temperature !== undefined && temperature !== 1) warn('temperature', DECIDING)
    if (topP !== undefined && topP !== 1) warn('top_p', DECIDING)
    if (topK !== undefined) warn('top_k', DECIDING)
    return { members: { stop_sequences }, warnings }
  }
  const { thinking } = thinkingOf(request)
  if (thinking !== undefined && thinking.type !== 'disabled') {
    if (temperature !== undefined) warn('temperature', THINKING)
    if (topP !== undefined) warn('top_p', THINKING)
    if (topK !== undefined) warn('top_k', THINKING)
    return { members: { stop_sequences }, warnings }
  }
  if (temperature !== undefined && temperature > 1) warn('temperature', 'Lowered to 1')
  const both = temperature !== undefined && topP !== undefined && !models.takesBoth(request.modelId)
  if (both && topP < 1)
    warn('top_p', 'This model does not support this setting together with a temperature: it was left out')
  const top_p = both ? undefined : topP
  const lowered = temperature === undefined ? undefined : Math.min(temperature, 1)
  return { members: { temperature: lowered, top_p, top_k: topK, stop_sequences }, warnings }
}
