import { create } from '@bufbuild/protobuf'
import type { Part } from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationEvent, PartExtended, PartStarted } from '#gen/portico/inference/v1/inference_service_pb.js'
import {
  type AssistantMessage,
  type AssistantPart,
  type AssistantTool,
  AssistantTool_State as State,
  StepRetrySchema,
  type StructuredError,
} from '#gen/portico/session/v1/message_pb.js'
import type { TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'
import type { DurableInit, VolatileInit } from '../event.ts'
import { callsOf, type MessageOf, withChanges, withContent } from '../message.ts'
import { NO_TOKENS } from '../session.ts'
import { cutOff, type NotBegun } from '../settle-aborted.ts'
import { type CallOutcome, invalidInput } from './call-outcome.ts'
import { newPart, refOf, saidIn, withSaid } from './draft-part.ts'
import { finishOf, textOf, usageOf } from './generation.ts'
import { TOOL_NOT_BEGUN } from './step-errors.ts'
import { StepRoom } from './step-room.ts'
import { thoughtState } from './thought.ts'
import { parseArguments } from './tool-arguments.ts'

/** The consequence of an event of a generation: something to write, or something only for listeners. */
export type DraftEvent =
  | { readonly durable: DurableInit; readonly volatile?: undefined }
  | { readonly volatile: VolatileInit; readonly durable?: undefined }

/** A step while it runs: follows the events of a generation and its tool calls, and says what to write. */
export class StepDraft {
  readonly #begun: MessageOf<'assistant'>
  #step: AssistantMessage
  #parts: AssistantPart[]
  /** Numbers of the generation's parts that have not ended → their numbers here. */
  readonly #open = new Map<number, number>()
  readonly #mostParts: number
  #room: StepRoom

  /** `begun`: the step as it begins, or as it was left. */
  constructor(begun: MessageOf<'assistant'>, mostParts: number) {
    this.#begun = begun
    this.#step = begun.kind.value
    this.#parts = [...this.#step.parts]
    this.#mostParts = mostParts
    this.#room = new StepRoom(mostParts, this.#parts)
  }

  get message(): MessageOf<'assistant'> {
    return withChanges(this.#begun, { ...this.#step, parts: [...this.#parts] })
  }

  /** What the generation used; undefined before its end. */
  get usage(): { readonly costNanos: bigint; readonly tokens: TokenUsage } | undefined {
    const { costNanos, tokens } = this.#step
    return costNanos === undefined || tokens === undefined ? undefined : { costNanos, tokens }
  }

  get finished(): boolean {
    return this.#step.finish !== undefined
  }

  /** The problem of an answer that is too large; the rest of it is ignored. */
  get problem(): StructuredError | undefined {
    return this.#room.problem
  }

  get runningCalls(): readonly AssistantTool[] {
    return callsOf(this.#parts).filter(({ state }) => state === State.RUNNING)
  }

  /** The generation failed and will be repeated: resets the step to its beginning. */
  retry(attempt: number, at: number, error: StructuredError): DurableInit {
    this.#parts = []
    this.#open.clear()
    this.#room = new StepRoom(this.#mostParts)
    const retry = create(StepRetrySchema, { attempt, startTime: at, error })
    this.#step = { ...this.#begun.kind.value, attempt: this.#step.attempt + 1, retry }
    return { case: 'retryScheduled', value: { messageId: this.#begun.messageId, retry } }
  }

  /** Follows one event; undefined when nothing follows from it. */
  follow({ event }: GenerationEvent, now: number): DraftEvent | undefined {
    // The repetition that was waited for has begun.
    if (this.#step.retry !== undefined) this.#step = { ...this.#step, retry: undefined }
    switch (event.case) {
      case 'partStarted':
        return this.#start(event.value, now)
      case 'partExtended':
        return this.#extend(event.value)
      case 'partEnded':
        return this.#end(event.value.index, event.value.part, now)
      case 'finished': {
        const { rawReason: rawFinish } = event.value
        this.#step = { ...this.#step, finish: finishOf(event.value), rawFinish, ...usageOf(event.value) }
      }
    }
    return undefined
  }

  /** The answer is complete: its tool calls are called, except those with invalid arguments. */
  streamed(now: number): DurableInit[] {
    const { messageId } = this.#begun
    this.#step = { ...this.#step, streamTime: now }
    const events: DurableInit[] = []
    for (const index of [...this.#open.keys()]) {
      const { durable } = this.#end(index, undefined, now) ?? {}
      if (durable !== undefined) events.push(durable)
    }
    events.push({ case: 'stepStreamed', value: { messageId } })
    for (const { callId, rawInput } of callsOf(this.#parts)) {
      const { input = {}, problem } = parseArguments(rawInput)
      this.#replace(callId, { state: State.RUNNING, input })
      events.push({ case: 'toolCalled', value: { messageId, callId, input } })
      if (problem !== undefined) events.push(this.settle(callId, invalidInput(problem), now))
    }
    return events
  }

  ran(callId: string, now: number): void {
    this.#replace(callId, { runTime: now })
  }

  /** How far a call has come. */
  progressed(callId: string, metadata: JsonObject): VolatileInit {
    this.#replace(callId, { metadata })
    return { case: 'toolProgressed', value: { messageId: this.#begun.messageId, callId, metadata } }
  }

  settle(callId: string, outcome: CallOutcome, now: number): DurableInit {
    const { error, content, metadata } = this.#room.takeResult(outcome)
    const state = error === undefined ? State.COMPLETED : State.ERROR
    this.#replace(callId, { state, error, content, metadata, completeTime: now })
    const result = { messageId: this.#begun.messageId, callId, content, metadata }
    return error === undefined
      ? { case: 'toolSucceeded', value: result }
      : { case: 'toolFailed', value: { ...result, error } }
  }

  complete(now: number): DurableInit {
    this.#step = { ...this.#step, completeTime: now }
    const { finish = 'unknown', rawFinish, costNanos = 0n, tokens = NO_TOKENS } = this.#step
    return { case: 'stepEnded', value: { messageId: this.#begun.messageId, finish, rawFinish, costNanos, tokens } }
  }

  /** The step ends with an error before its time. */
  cutOff(error: StructuredError, now: number): readonly DurableInit[] {
    const notBegun: NotBegun = ({ runTime }) => (runTime === undefined ? TOOL_NOT_BEGUN : undefined)
    const { message, events } = cutOff(this.message, error, now, notBegun)
    this.#step = message.kind.value
    this.#parts = [...this.#step.parts]
    return events
  }

  #start(started: PartStarted, now: number): DraftEvent | undefined {
    const part = newPart(started, this.#parts, now)
    if (part === undefined || !this.#room.takePart()) return undefined
    const ordinal = this.#parts.length
    this.#open.set(started.index, ordinal)
    this.#parts.push(part)
    return { durable: { case: 'partStarted', value: { part: refOf(this.#begun.messageId, part, ordinal) } } }
  }

  #extend({ index, text: delta }: PartExtended): DraftEvent | undefined {
    const ordinal = this.#open.get(index)
    const part = ordinal === undefined ? undefined : this.#parts[ordinal]
    if (ordinal === undefined || part === undefined) return undefined
    if (!this.#room.takeSaid(part.part.case, delta)) return undefined
    this.#parts[ordinal] = withSaid(part, saidIn(part) + delta)
    return { volatile: { case: 'partExtended', value: { part: refOf(this.#begun.messageId, part, ordinal), delta } } }
  }

  /** `whole`: the part as it was generated; undefined: what has arrived so far. */
  #end(index: number, whole: Part | undefined, now: number): DraftEvent | undefined {
    const ordinal = this.#open.get(index)
    const part = ordinal === undefined ? undefined : this.#parts[ordinal]
    if (ordinal === undefined || part === undefined) return undefined
    this.#open.delete(index)
    const soFar = saidIn(part)
    const text = whole === undefined ? soFar : textOf(whole)
    const { part: content } = part
    const isThought = content.case === 'reasoning'
    const state = isThought && whole?.part.case === 'reasoning' ? thoughtState(whole.part.value) : undefined
    if (!this.#room.takeSaid(content.case, [text, state], [soFar])) return undefined
    this.#parts[ordinal] =
      content.case === 'reasoning'
        ? withContent(part, { case: 'reasoning', value: { ...content.value, text, state, completeTime: now } })
        : withSaid(part, text)
    const ref = refOf(this.#begun.messageId, part, ordinal)
    return { durable: { case: 'partEnded', value: { part: ref, text, state } } }
  }

  #replace(callId: string, changes: Partial<AssistantTool>): void {
    this.#parts = this.#parts.map((whole) => {
      const { part } = whole
      if (part.case !== 'tool' || part.value.callId !== callId) return whole
      return withContent(whole, { case: 'tool', value: { ...part.value, ...changes } })
    })
  }
}
