import type { GenerationRequest as GenerationMessage } from '#gen/portico/inference/v1/inference_pb.js'
import type { Clock } from '#shared/clock.ts'
import type { Principal } from '#shared/rpc/call-context.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { GenerationEvent, GenerationRequest, Warning } from '../domain/generation.ts'
import type { CostFactors } from '../domain/ledger/cost-factors.ts'
import type { KeyTerms } from '../domain/ledger/key-terms.ts'
import { notAppliedWarnings } from '../domain/left-out.ts'
import type { Meter, MeteredEvent } from '../domain/meter.ts'
import type { ProviderEntry } from '../domain/model-list.ts'
import type { AppliedPreset } from '../domain/preset/applied-preset.ts'
import type { PresetSettings } from '../domain/preset/apply-preset.ts'
import type { PresetInUse } from '../domain/preset/preset.ts'
import type { KeyChecker } from '../ports/key-checker.ts'
import type { Ledger } from '../ports/ledger.ts'
import type { PresetStore } from '../ports/preset-store.ts'
import type { PriceList } from '../ports/price-list.ts'
import type { ModelProvider } from '../ports/provider.ts'
import type { Deadline } from './deadline.ts'
import type { RowCloser } from './row-closer.ts'
import type { RowKeeper } from './row-keeper.ts'

/** What generations need. */
export interface GenerationDependencies {
  readonly modelList: readonly ProviderEntry[]
  readonly defaultModel: string
  readonly providers: ReadonlyMap<string, ModelProvider>
  readonly prices: PriceList
  readonly keys: KeyChecker
  readonly ledger: Ledger
  readonly closer: RowCloser
  readonly presets: Pick<PresetStore, 'inUse'>
  /** Reads the settings of a preset's version as they are stored. */
  readonly readSettings: (stored: Pick<PresetInUse, 'versionId' | 'settings'>) => {
    readonly model: string | undefined
    readonly settings: PresetSettings
    /** The same as a message, which nobody may change. */
    readonly message: GenerationMessage
  }
  readonly keeper: RowKeeper
  readonly clock: Clock
  /** Whether a key with a limit may use models whose price is unknown. */
  readonly allowUnpriced: boolean
  readonly logger: Logger
  /** Longest time that one generation may take. */
  readonly timeoutMs: number
}

/** What a generation begins with. */
export interface GenerationInput {
  readonly principal: Principal
  /** The principal's key was read for this very request. */
  readonly authenticated: boolean
  /** What that key may spend, as it was read then; undefined: it is not known here, or nothing limits it. */
  readonly terms: KeyTerms | undefined
  /** Aborts when the caller is gone. */
  readonly caller: AbortSignal
  /** Whether the provider is to answer whole or by a stream. */
  readonly form: 'whole' | 'streamed'
  /** As it was requested; undefined: the default model. */
  readonly model: string | undefined
  readonly request: Omit<GenerationRequest, 'modelId'>
  /** Whether the request itself says that the answer is text, whatever its preset says. */
  readonly wantsText: boolean
  /** Whether the answer shall say what its preset says. */
  readonly showPreset: boolean
}

/** What an answer says of how it was made, besides what its events say. */
export interface Served {
  readonly endpoint: Pick<Endpoint, 'providerId' | 'modelId'>
  /** What did not reach the provider as it was meant, as known before it was called. */
  readonly warnings: readonly Warning[]
  /** Undefined: no preset was named. */
  readonly preset?: AppliedPreset | undefined
  /** Undefined: the request does not want it. */
  readonly shownPreset?: ShownPreset | undefined
}

/** What a preset says, as an answer shows it. */
interface ShownPreset {
  readonly settings: GenerationMessage
  readonly systemPrompt: string | undefined
}

/** One generation on its way through the steps; each step reads what those before it have set. */
export class Generation {
  /** `applyPreset` fills it in. */
  input: GenerationInput
  /** What does not reach the provider as it was meant, as known before it is called; steps may add to it. */
  warnings: Warning[]
  /** Set by `applyPreset`; undefined: none was named. */
  preset: AppliedPreset | undefined
  /** Set by `applyPreset`; undefined: the request does not want it. */
  shownPreset: ShownPreset | undefined
  /** Set by `resolveModel`: where the model is served, in order of preference. */
  endpoints!: readonly [Endpoint, ...Endpoint[]]
  /** Set by `chooseEndpoint`. */
  endpoint!: Endpoint
  /** Set by `chooseEndpoint`. */
  provider!: ModelProvider
  /** Set by `checkKey`; undefined: nothing limits the caller. */
  terms: KeyTerms | undefined
  /** Set by `openRow`: what the input is taken for. */
  inputTokens!: bigint
  /** Set by `openRow`. */
  costFactors: CostFactors = {}
  /** Set by `openRow`: the output that was reserved for a request which sets no maximum; undefined: none has to be sent. */
  maxOutputTokens: number | undefined
  /** Set by `attempt`: what the provider says, which is called at the first pull. */
  batches!: AsyncIterable<readonly GenerationEvent[]>
  /** Set by `attempt`. */
  deadline!: Deadline
  /** Set by `meter`. */
  meter!: Meter
  /** Set by `closeRow`: what the caller gets. Whoever pulls it pulls it to its end or leaves it. */
  answer!: AsyncIterable<readonly MeteredEvent[]>

  constructor(input: GenerationInput) {
    this.input = input
    this.warnings = notAppliedWarnings(input.request)
  }
}
