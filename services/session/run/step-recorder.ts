import type { GenerationEvent } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { AssistantMessageSchema } from '#gen/portico/session/v1/message_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import type { DurableInit, VolatileInit } from '../domain/event.ts'
import type { CallOutcome } from '../domain/generation/call-outcome.ts'
import { StepDraft } from '../domain/generation/step-draft.ts'
import { type MessageOf, modelOf } from '../domain/message.ts'
import type { Delegation } from '../domain/subagent/delegation.ts'
import { nextTurn } from './pause.ts'
import { type LastEvent, type RunContext, sendEvents } from './run-context.ts'

const { most: MOST_PARTS } = limitOf(AssistantMessageSchema.field.parts)

/** Records what happens in one step, in order, and sends it to listeners. */
export class StepRecorder {
  readonly #run: RunContext
  readonly #draft: StepDraft
  /** The step as it was written last. */
  #written: MessageOf<'assistant'> | undefined
  #writing: Promise<unknown> = Promise.resolve()
  /** The next write, while it waits, and its events. */
  #next: Promise<void> | undefined
  #events: DurableInit[] = []
  /** The last durable event of the step, which volatile ones follow. */
  #last: LastEvent = { seq: 0, mark: 0 }

  /** `message`: the step as it begins; `written`: the last written state of a step that a former owner began. */
  constructor(run: RunContext, message: MessageOf<'assistant'>, written?: MessageOf<'assistant'>) {
    this.#run = run
    this.#draft = new StepDraft(message, MOST_PARTS)
    this.#written = written
  }

  /** The step as it is now. */
  get draft(): Pick<StepDraft, 'message' | 'finished' | 'runningCalls' | 'problem'> {
    return this.#draft
  }

  /** The step begins: written before a provider is called. */
  begin(): Promise<void> {
    const { messageId, kind } = this.#draft.message
    const { agent } = kind.value
    const model = modelOf(kind.value)
    return this.#write([{ case: 'stepStarted', value: { messageId, agent, model } }])
  }

  /** Processes a batch of events from the provider. */
  async take(events: readonly GenerationEvent[]): Promise<void> {
    let durable: DurableInit[] = []
    let volatile: VolatileInit[] = []
    for (const event of events) {
      const followed = this.#draft.follow(event, this.#run.clock.now())
      if (followed?.durable !== undefined) {
        sendEvents(this.#run, volatile, this.#last)
        volatile = []
        durable.push(followed.durable)
      } else if (followed !== undefined) {
        if (durable.length > 0) await this.#write(durable)
        durable = []
        volatile.push(followed.volatile)
      }
    }
    // The end of the answer is written together with its consequences.
    if (this.#draft.finished) this.#events.push(...durable)
    else if (durable.length > 0) await this.#write(durable)
    if (sendEvents(this.#run, volatile, this.#last)) await nextTurn()
  }

  /** The provider call failed and is repeated at that time. */
  retry(attempt: number, at: number, error: StructuredError): Promise<void> {
    return this.#write([this.#draft.retry(attempt, at, error)])
  }

  /** The repetition begins. */
  retried(): void {
    sendEvents(this.#run, [{ case: 'stepRetried', value: { messageId: this.#draft.message.messageId } }], this.#last)
  }

  /** The answer is complete. Without tool calls the step is over with it; else they are written as called. */
  async streamed(): Promise<void> {
    const now = this.#run.clock.now()
    const events = this.#draft.streamed(now)
    if (this.#draft.runningCalls.length > 0) return this.#write(events)
    await this.#write([...events, this.#draft.complete(now)])
  }

  /** A tool call begins. */
  ran(callId: string): void {
    this.#draft.ran(callId, this.#run.clock.now())
  }

  /** A tool call begins as soon as this is written. */
  begins(callId: string): Promise<void> {
    this.ran(callId)
    return this.#write([])
  }

  /** How far a tool call has come. */
  progressed(callId: string, metadata: Parameters<StepDraft['progressed']>[1]): void {
    sendEvents(this.#run, [this.#draft.progressed(callId, metadata)], this.#last)
  }

  /** Records that a tool call is delegated to another session, before that session is created. */
  delegated(callId: string, delegation: Delegation): Promise<void> {
    this.#draft.progressed(callId, { ...delegation })
    return this.#write([])
  }

  /** The session is there that works for a tool call. */
  delegateBegan(callId: string, delegation: Delegation): Promise<void> {
    this.ran(callId)
    this.progressed(callId, { ...delegation })
    return this.#write([])
  }

  /** A tool call has ended. The last one ends the step. */
  settle(callId: string, outcome: CallOutcome): Promise<void> {
    const now = this.#run.clock.now()
    const event = this.#draft.settle(callId, outcome, now)
    if (this.#draft.runningCalls.length > 0) return this.#write([event])
    return this.#write([event, this.#draft.complete(now)])
  }

  /** Somebody else ends the step. */
  leave(): Promise<void> {
    return this.#write([])
  }

  /** The step ends with an error before its time. */
  cutOff(error: StructuredError): Promise<void> {
    return this.#write(this.#draft.cutOff(error, this.#run.clock.now()))
  }

  /**
   * Writes the step as it is, with its events. Writes run one after the other, and all that are requested while one
   * runs are one with the next.
   */
  async #write(events: readonly DurableInit[]): Promise<void> {
    this.#events.push(...events)
    this.#next ??= this.#writing.then(() => this.#writeAll())
    this.#writing = this.#next.catch(() => {})
    await this.#next
  }

  async #writeAll(): Promise<void> {
    const { owned, hub } = this.#run
    const { message, usage } = this.#draft
    const wasOver = this.#written?.kind.value.completeTime !== undefined
    const ends = !wasOver && message.kind.value.completeTime !== undefined
    const record = { message, events: this.#events, usage: ends ? usage : undefined }
    this.#events = []
    this.#next = undefined
    const mark = hub.mark()
    this.#last = { seq: await owned.recordStep(this.#written, record), mark }
    this.#written = message
  }
}
