import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import type { AppliedPreset, GenerationRequest, Warning } from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationEvent } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import type { Principal } from '#shared/rpc/call-context.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { ProviderEvent } from '../domain/generation.ts'
import type { CostFactors } from '../domain/ledger/cost-factors.ts'
import { notAppliedWarnings } from '../domain/left-out.ts'
import type { Meter } from '../domain/meter.ts'
import type { ProviderEntry } from '../domain/model-list.ts'
import { OwnFields } from '../domain/preset/own-fields.ts'
import type { KeyChecker } from '../ports/key-checker.ts'
import type { Ledger } from '../ports/ledger.ts'
import type { PresetStore } from '../ports/preset-store.ts'
import type { PriceList } from '../ports/price-list.ts'
import type { ModelProvider } from '../ports/provider.ts'
import type { RowCloser } from './row-closer.ts'
import type { RowKeeper } from './row-keeper.ts'

export interface GenerationDependencies {
  readonly modelList: readonly ProviderEntry[]
  readonly defaultModel: string
  readonly providers: ReadonlyMap<string, ModelProvider>
  readonly prices: PriceList
  readonly keys: KeyChecker
  readonly ledger: Ledger
  readonly closer: RowCloser
  readonly presets: Pick<PresetStore, 'inUse'>
  readonly keeper: RowKeeper
  readonly clock: Clock
  /** Whether a key with a limit may use models of unknown price. */
  readonly allowUnpriced: boolean
  readonly logger: Logger
  /** Time limit of a generation. */
  readonly timeoutMs: number
}

export interface GenerationInput {
  readonly principal: Principal
  /** The principal's key was read for this very request. */
  readonly authenticated: boolean
  /** The terms of that key as they were read then; undefined: they are unknown here, or nothing limits it. */
  readonly terms: KeyTerms | undefined
  /** Aborts when the caller is gone. */
  readonly caller: AbortSignal
  /** Whether the provider is to answer whole or as a stream. */
  readonly form: 'whole' | 'streamed'
  readonly request: GenerationRequest
}

/** One generation on its way through the steps; each step reads what the earlier ones have set. */
export class Generation {
  /** Completed by `applyPreset`. */
  input: GenerationInput
  readonly #own: GenerationInput['request']
  /** Made when it is first asked for a name. */
  #ownFields: OwnFields | undefined
  /** What does not reach the provider as it was meant, as far as it is known before the call; steps may add to it. */
  warnings: Warning[]
  /** Set by `applyPreset`; undefined: none was named. */
  preset: AppliedPreset | undefined
  /** Set by `resolveModel`: the endpoints of the model, in order of preference. */
  endpoints!: readonly [Endpoint, ...Endpoint[]]
  /** Set by `chooseEndpoint`. */
  endpoint!: Endpoint
  /** Set by `chooseEndpoint`. */
  provider!: ModelProvider
  /** Set by `checkKey`; undefined: nothing limits the caller. */
  terms: KeyTerms | undefined
  /** Set by `openRow`: the estimate of the input. */
  inputTokens!: bigint
  /** Set by `openRow`. */
  costFactors: CostFactors = {}
  /** Set by `openRow`: the output that was reserved for a request without a maximum; undefined: none need be sent. */
  maxOutputTokens: number | undefined
  /** Set by `attempt`: the provider's answer; the provider is called at the first pull. */
  batches!: AsyncIterable<readonly ProviderEvent[]>
  /** Set by `attempt`. */
  deadline!: Deadline
  /** Set by `meter`. */
  meter!: Meter
  /** Set by `closeRow`: what the caller gets. Whoever pulls it must pull it to its end or leave it. */
  answer!: AsyncIterable<readonly GenerationEvent[]>

  constructor(input: GenerationInput) {
    this.input = input
    this.#own = input.request
    this.warnings = notAppliedWarnings(input.request)
  }

  /** The name of a field of the request that the provider got in the request as it came. */
  ownField(field: string): string {
    const { request } = this.input
    if (request === this.#own) return field
    this.#ownFields ??= new OwnFields(this.#own, request)
    return this.#ownFields.nameOf(field)
  }
}

/** A signal with a time limit; disposing it stops the timer. */
export type Deadline = Disposable & { readonly signal: AbortSignal }

/**
 * A signal that aborts with the caller's, for the same reason, or with another reason when the time is up; disposing it
 * stops the timer. `AbortSignal.any` would do the same at several times the cost.
 */
export function startDeadline(caller: AbortSignal, ms: number, reason: () => Error): Deadline {
  const controller = new AbortController()
  const follow = (): void => controller.abort(caller.reason)
  if (caller.aborted) follow()
  else caller.addEventListener('abort', follow, { once: true })
  const timer = setTimeout(() => controller.abort(reason()), ms)
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer)
      caller.removeEventListener('abort', follow)
    },
  }
}
