import { createHmac } from 'node:crypto'
import type { GenerationEvent } from '#gen/portico/inference/v1/inference_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { withCacheMarker } from '../domain/automatic-cache.ts'
import { warningOf } from '../domain/left-out.ts'
import { Meter } from '../domain/meter.ts'
import { resolveModel as findModel, isAllowed } from '../domain/model-list.ts'
import { ThoughtFilter } from '../domain/thought-filter.ts'
import { applyPreset, requireTools } from './apply-preset.ts'
import { chooseEndpoint } from './choose-endpoint.ts'
import { closeRow } from './close-row.ts'
import { type Generation, type GenerationDependencies, startDeadline } from './generation.ts'
import { openFreeRow, openRow } from './open-row.ts'

type Step = (generation: Generation, dependencies: GenerationDependencies) => void | Promise<void>

/** The steps of a generation, in order. A step that throws ends it; before `openRow` nothing is spent. */
const STEPS: readonly Step[] = [
  applyPreset,
  requireTools,
  resolveModel,
  checkKey,
  requireAllowed,
  chooseEndpoint,
  openRow,
  attempt,
  meter,
  closeRow,
  hideThoughts,
]

/** The steps of a request whose input is counted. */
const COUNTING_STEPS: readonly Step[] = [...STEPS.slice(0, STEPS.indexOf(openRow)), openFreeRow]

/** Takes a generation through the steps; afterwards its answer must be pulled. */
export async function runSteps(generation: Generation, dependencies: GenerationDependencies): Promise<void> {
  for (const step of STEPS) await step(generation, dependencies)
}

/** Takes a generation to the point where its provider is known and could be called. */
export async function runCountingSteps(generation: Generation, dependencies: GenerationDependencies): Promise<void> {
  for (const step of COUNTING_STEPS) await step(generation, dependencies)
}

function resolveModel(generation: Generation, { modelList, defaultModel }: GenerationDependencies): void {
  const name = generation.input.request.model ?? defaultModel
  const model = findModel(modelList, name)
  if (model === undefined) throw new Rejection('MODEL_NOT_FOUND', { model: name.slice(0, 256) })
  generation.endpoints = model.endpoints
  if (model.variant === undefined) return
  generation.warnings.push(warningOf('model', `The variant "${model.variant}" was not applied`))
}

/**
 * Within the request that was authenticated with the key, the terms that were read then are enough; a run that spends
 * later reads them again.
 */
async function checkKey(generation: Generation, { keys }: GenerationDependencies): Promise<void> {
  const { authenticated, principal, caller, terms } = generation.input
  generation.terms = authenticated && terms !== undefined ? terms : await keys.check(principal, caller)
}

/** Refuses models that the key may not use, by their endpoints and not by their name. */
function requireAllowed(generation: Generation): void {
  const patterns = generation.terms?.allowedModels ?? []
  if (patterns.length === 0) return
  const [first, ...others] = generation.endpoints.filter((endpoint) => isAllowed(patterns, endpoint))
  if (first === undefined) {
    const [{ providerId, modelId }] = generation.endpoints
    throw new Rejection('MODEL_FORBIDDEN', { model: `${providerId}/${modelId}`.slice(0, 256) })
  }
  generation.endpoints = [first, ...others]
}

function attempt(generation: Generation, { timeoutMs }: GenerationDependencies): void {
  const { input, endpoint } = generation
  const { providerId: id } = endpoint
  const ms = Math.min(input.request.providerTimeouts?.totalMs ?? timeoutMs, timeoutMs)
  const deadline = startDeadline(input.caller, ms, () => new Rejection('PROVIDER_TIMEOUT', { provider: id }))
  generation.deadline = deadline
  // The row is open, and only the end of the pulled answer closes it: until the first pull, no step may throw.
  generation.batches = { [Symbol.asyncIterator]: () => call(generation, deadline.signal)[Symbol.asyncIterator]() }
}

function call(generation: Generation, signal: AbortSignal): Generation['batches'] {
  const { input, endpoint, provider } = generation
  const { modelId } = endpoint
  const { messages, automaticCache: cache, sessionId } = input.request
  const withMarker = cache === undefined ? messages : withCacheMarker(input.request, cache)
  const maxOutputTokens = generation.maxOutputTokens ?? input.request.maxOutputTokens
  const providerSession = sessionId ? sessionDigest(input.principal.workspaceId, sessionId) : undefined
  const request = { ...input.request, modelId, messages: withMarker, maxOutputTokens, providerSession }
  return input.form === 'whole' ? provider.generate(request, signal) : provider.stream(request, signal)
}

function meter(generation: Generation): void {
  const { endpoint, inputTokens, costFactors, input } = generation
  const outputTokens = generation.maxOutputTokens ?? input.request.maxOutputTokens ?? costFactors.outputTokens
  generation.meter = new Meter(endpoint.pricing, inputTokens, { ...costFactors, outputTokens })
}

/**
 * What a provider learns about a session: the same text for each of its requests, so that they find the same cache, and
 * nothing else. The workspace's id, which is random and unknown to providers, is the salt.
 */
export function sessionDigest(workspaceId: string, sessionId: string): string {
  return createHmac('sha256', workspaceId).update(sessionId).digest('base64url')
}

/** Removes thoughts from the answer if the request or its preset wants none. They are charged for nevertheless. */
function hideThoughts(generation: Generation): void {
  if (generation.input.request.excludeThoughts !== true) return
  generation.answer = withoutThoughts(generation.answer)
}

async function* withoutThoughts(
  answer: AsyncIterable<readonly GenerationEvent[]>,
): AsyncGenerator<readonly GenerationEvent[]> {
  const filter = new ThoughtFilter()
  for await (const batch of answer) {
    const events = filter.take(batch)
    if (events.length > 0) yield events
  }
}
