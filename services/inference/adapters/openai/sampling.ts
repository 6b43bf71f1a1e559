import type { Sampling } from '#gen/portico/inference/v1/inference_pb.js'
import type { ChatContext } from './pieces.ts'

/** Maximum number of stop texts that OpenAI accepts. */
const MAX_STOPS = 4

/** The members of a request that control sampling. Some of them exist only on servers of open models. */
export function samplingOf(
  sampling: Sampling | undefined,
  { profile, omissions }: ChatContext,
): Record<string, unknown> {
  if (sampling === undefined) return {}
  const { topLogProbabilities: alternatives, logitBias, stop, seed } = sampling
  const common = {
    temperature: sampling.temperature,
    top_p: sampling.topP,
    frequency_penalty: sampling.frequencyPenalty,
    presence_penalty: sampling.presencePenalty,
    seed: seed === undefined ? undefined : Number(seed),
    stop: stop.length === 0 ? undefined : stop,
    logit_bias: Object.keys(logitBias).length > 0 ? logitBias : undefined,
    logprobs: alternatives === undefined ? undefined : true,
    top_logprobs: alternatives || undefined,
  }
  const { topK, minP, topA, repetitionPenalty } = sampling
  if (profile.dialect !== 'openai') {
    const more = { top_k: topK, min_p: minP, repetition_penalty: repetitionPenalty }
    return { ...common, ...more, top_a: profile.dialect === 'openrouter' ? topA : undefined }
  }
  if (stop.length <= MAX_STOPS) return common
  omissions.add('sampling.stop', `Only the first ${MAX_STOPS} texts were sent`)
  return { ...common, stop: stop.slice(0, MAX_STOPS) }
}
