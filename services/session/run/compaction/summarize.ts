import type { Agent, ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type GenerationRequest, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import {
  COMPACTION_FAILED,
  type CompactionUsage,
  type Summary,
} from '#services/session/domain/compaction/compaction.ts'
import type { Covered } from '#services/session/domain/compaction/coverage.ts'
import { toSummarize } from '#services/session/domain/compaction/to-summarize.ts'
import { beginningOf, bytesIn } from '#services/session/domain/compaction/turn-text.ts'
import { generationRequest, textContent, turn, usageOf } from '#services/session/domain/generation/generation.ts'
import { absenceDelay, isAway, retryDelay } from '#services/session/domain/generation/retry.ts'
import { CONTEXT_OVERFLOW } from '#services/session/domain/generation/step-errors.ts'
import { structuredError } from '#services/session/domain/structured-error.ts'
import { Rejection } from '#shared/rejection.ts'
import { CUT, type Failure, toFailure } from '../failure.ts'
import { type RunContext, runCall, tryPeer } from '../run-context.ts'

const AGENT = 'compaction'
/**
 * How many bytes a model is shown at first for each token of its context. With plain text this leaves room for the
 * answer; other text takes more tokens, and is shortened after the first attempt.
 */
const BYTES = 3.5
/** How many bytes to send first if the model's context length is unknown. */
const FIRST_ROOM = 400_000
/** How often a conversation that was too long is shortened, and to which share each time. */
const MOST_SHRINKS = 8
const SHRUNK = 2 / 3
/**
 * Maximum size of a summary, in words and in bytes; the contexts of the model that writes it, and of the one that
 * continues with it, may reduce both.
 */
const MOST_WORDS = 1_000
const MOST_BYTES = 32_000

export class CompactionFailure extends Error {
  override readonly name = 'CompactionFailure'
  readonly error: StructuredError
  readonly usage: CompactionUsage | undefined

  constructor(error: StructuredError, options?: ErrorOptions & { readonly usage?: CompactionUsage }) {
    super(error.message, options)
    this.error = error
    this.usage = options?.usage
  }
}

/** The agent and model that write the summary. */
interface Author {
  readonly agent: Agent
  readonly model: ModelRef
  readonly contextLength: number | undefined
}

/**
 * Has the `compaction` agent's model summarize a conversation for one with so many tokens of context (undefined: nobody
 * knows); `receive` is called with what it says, as it comes. A conversation that is too long for it is shortened,
 * eight times at most; what fails in a way that may pass is repeated as in a step. In the end throws CompactionFailure,
 * and Stopped when the run was stopped.
 */
export async function summarize(
  run: RunContext,
  covered: Covered,
  reader: number | undefined,
  receive: (text: string) => Promise<void>,
): Promise<Summary> {
  const author = await findAuthor(run)
  const { contextLength = Infinity, model } = author
  const shortest = Math.min(contextLength, reader ?? Infinity)
  const id = run.newId('msg')
  let room = contextLength === Infinity ? FIRST_ROOM : Math.floor(contextLength * BYTES)
  const tries = { away: 0, failed: 0, long: 0 }
  for (let attempt = 1; ; attempt++) {
    await run.slot.acquire(run.tenure.signal)
    const text = toSummarize(covered, room)
    const answer = await callModel(run, requestOf(run, author, `${id}-compaction-${attempt}`, text, shortest), receive)
    if ('text' in answer) {
      const { text, ...usage } = answer
      if (text.trim() === '') throw new CompactionFailure(failure('The summary is empty'), { usage })
      return { text: beginningOf(text, Math.min(MOST_BYTES, shortest)), model, ...usage }
    }
    run.tenure.check()
    if (answer.error.type === CONTEXT_OVERFLOW && ++tries.long <= MOST_SHRINKS) {
      room = Math.floor(Math.min(room, bytesIn(text)) * SHRUNK)
      continue
    }
    const { clock, random } = run
    const delay = isAway(answer.reason)
      ? absenceDelay(++tries.away, random)
      : retryDelay(answer, ++tries.failed, clock.now(), random)
    if (delay === undefined) throw new CompactionFailure(failure(answer.error.message), { cause: answer.cause })
    await run.pause(delay, run.tenure.signal)
  }
}

async function findAuthor(run: RunContext): Promise<Author> {
  const { session, catalog, inference, tenure } = run
  const { directory } = session
  const call = runCall(run)
  const agentOf = (id: string | undefined) => tryPeer(run, tenure.signal, () => catalog.getAgent(call, directory, id))
  try {
    const { agent } = await agentOf(AGENT)
    const wanted = agent.model ?? session.model ?? (await agentOf(session.agent)).agent.model
    const model = await tryPeer(run, tenure.signal, () => inference.findModel(call, wanted))
    return { agent, ...model }
  } catch (cause) {
    tenure.check()
    const gone = cause instanceof Rejection && cause.reason === 'AGENT_NOT_FOUND'
    const problem = gone ? `Agent not found: ${cause.metadata.agent_id}` : `The agent "${AGENT}" cannot be used`
    throw new CompactionFailure(failure(problem), { cause })
  }
}

function requestOf(
  run: RunContext,
  { agent, model }: Author,
  requestId: string,
  text: string,
  shortest: number,
): GenerationRequest {
  const words = Math.min(MOST_WORDS, Math.floor(shortest / 8))
  const prompt = `<conversation>\n${text}\n</conversation>\n\nSummarize this conversation in at most ${words} words.`
  return generationRequest(agent, model, {
    requestId,
    sessionId: run.session.sessionId,
    origin: 'compaction',
    messages: [turn(Role.SYSTEM, textContent(agent.system ?? '')), turn(Role.USER, textContent(prompt))],
  })
}

async function callModel(
  { inference, principal, tenure }: RunContext,
  request: GenerationRequest,
  receive: (text: string) => Promise<void>,
): Promise<(CompactionUsage & { readonly text: string }) | Failure> {
  const texts = new Set<number>()
  const call = { principal, requestId: request.requestId, signal: tenure.signal }
  let text = ''
  try {
    for await (const events of inference.generate(call, request)) {
      tenure.check()
      let more = ''
      let end: CompactionUsage | undefined
      for (const { event } of events) {
        if (event.case === 'partStarted') {
          const { index, kind } = event.value
          if (kind === Kind.TEXT || kind === Kind.REFUSAL) texts.add(index)
        }
        if (event.case === 'partExtended' && texts.has(event.value.index)) more += event.value.text
        if (event.case === 'finished') end = usageOf(event.value)
      }
      text = (text + more).slice(0, 2 * MOST_BYTES)
      if (more !== '') await receive(more)
      if (end !== undefined) return { text, ...end }
    }
    return toFailure(CUT)
  } catch (cause) {
    tenure.check()
    return toFailure(cause)
  }
}

function failure(message: string): StructuredError {
  return structuredError(COMPACTION_FAILED, message)
}
