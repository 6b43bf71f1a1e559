import { type GenerationRequest, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import type { Prompt, Session } from '#gen/portico/session/v1/session_pb.js'
import { finishTitle } from '#services/session/domain/description.ts'
import {
  generationRequest,
  textContent,
  textOf,
  turn,
  usageOf,
} from '#services/session/domain/generation/generation.ts'
import type { Admitter } from '#services/session/domain/inbox.ts'
import { titleIn, titleInput } from '#services/session/domain/title.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { Inference } from '#services/session/ports/inference.ts'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import { nothing, type SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { FairTurns } from './fair-turns.ts'

const AGENT = 'title'
const TURNS = { atOnce: 16, ofOne: 4, waiting: 100 }
/** Milliseconds. */
const LONGEST = 20_000

export interface TitleRequest {
  /** Identifies the request in the ledger and in the session, which only accepts the title of this request. */
  readonly id: string
  readonly session: Session
  /** On whose behalf a model is called. */
  readonly principal: Admitter
  /** The session's first input. */
  readonly prompt: Prompt
}

export interface TitleDependencies {
  readonly store: SessionStore
  readonly catalog: Catalog
  readonly inference: Inference
  readonly logger: Logger
}

/**
 * Has the `title` agent find titles, beside the runs, which never wait for one: at most 16 at once, four for one
 * workspace, and for at most 20 s each. What fails, is cut off by the end of the process, or waits behind 100 newer
 * ones of its workspace leaves a session as it is.
 */
export class Titles implements AsyncDisposable {
  readonly #dependencies: TitleDependencies
  readonly #turns = new FairTurns(TURNS)
  readonly #underWay = new Set<string>()
  readonly #closing = new AbortController()

  constructor(dependencies: TitleDependencies) {
    this.#dependencies = dependencies
  }

  /** The requests of this process that wait or are being answered. */
  get underWay(): ReadonlySet<string> {
    return this.#underWay
  }

  find({ prompt, ...request }: TitleRequest): void {
    const input = titleInput(prompt)
    if (input === '' || this.#closing.signal.aborted) return
    const over = (): void => void this.#underWay.delete(request.id)
    const work = () =>
      this.#find(request, input)
        .catch((error: unknown) => this.#report(request, error))
        .finally(over)
    this.#underWay.add(request.id)
    this.#turns.add(request.principal.workspaceId, work, over)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('The service is closing'))
    await this.#turns.end()
  }

  async #find({ id, session, principal }: Omit<TitleRequest, 'prompt'>, input: string): Promise<void> {
    const { store, catalog, inference } = this.#dependencies
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(LONGEST)])
    const call: PeerCall = { principal, requestId: id, signal }
    const { agent } = await catalog.getAgent(call, session.directory, AGENT)
    const model = agent.model ?? session.model ?? (await inference.findModel(call, undefined)).model
    const generation = generationRequest(agent, model, {
      requestId: id,
      sessionId: session.sessionId,
      origin: 'title',
      messages: [turn(Role.SYSTEM, textContent(agent.system ?? '')), turn(Role.USER, textContent(input))],
    })
    const { text, costNanos, tokens } = await this.#callModel(call, generation)
    const key = { workspace: principal.workspaceId, sessionId: session.sessionId }
    await store.revise(key, nothing, (revision) =>
      finishTitle(revision, id, { title: titleIn(text), costNanos, tokens }),
    )
  }

  async #callModel(call: PeerCall, generation: GenerationRequest) {
    let text = ''
    for await (const events of this.#dependencies.inference.generate(call, generation)) {
      for (const { event } of events) {
        if (event.case === 'partEnded') {
          const { part } = event.value
          if (part?.part.case === 'text' || part?.part.case === 'refusal') text += textOf(part)
        }
        if (event.case === 'finished') return { text, ...usageOf(event.value) }
      }
    }
    throw new Rejection('PROVIDER_UNAVAILABLE', { message: 'The answer was cut off' })
  }

  #report({ session }: Pick<TitleRequest, 'session'>, error: unknown): void {
    // The agent is disabled, or the session is gone.
    const expected = error instanceof Rejection && ['AGENT_NOT_FOUND', 'SESSION_NOT_FOUND'].includes(error.reason)
    if (expected || this.#closing.signal.aborted) return
    this.#dependencies.logger.info({ err: error, sessionId: session.sessionId }, 'No title was found')
  }
}
