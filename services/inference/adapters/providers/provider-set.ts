import type { Agent } from 'undici'
import type { ProviderConfig } from '#services/inference/config-file.ts'
import { echoEntry, type ProviderEntry } from '#services/inference/domain/model-list.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { isTracing } from '#shared/telemetry/tracing.ts'
import { BoundedContext } from '../echo/bounded-context.ts'
import { EchoProvider } from '../echo/provider.ts'
import { TracedProvider } from './traced-provider.ts'

const CONNECT_TIMEOUT_MS = 10_000

/**
 * The configured providers and the built-in one, by id; with spans if tracing is on by now. Disposing it closes their
 * connections.
 */
export class ProviderSet implements AsyncDisposable {
  readonly byId = new Map([[echoEntry.id, openEcho()]])
  /** What is known about the configured ones. */
  readonly entries: Omit<ProviderEntry, 'closed'>[] = []
  readonly #timeoutMs: number
  #agent: Promise<Agent> | undefined

  private constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  static async open(providers: readonly ProviderConfig[], timeoutMs: number, logger: Logger): Promise<ProviderSet> {
    const set = new ProviderSet(timeoutMs)
    // The protocols are not loaded if no provider speaks them.
    if (providers.length > 0) {
      const { openProvider } = await import('./open-provider.ts')
      for (const config of providers) {
        const { provider, entry } = openProvider(config, () => set.#connections(), logger)
        set.byId.set(config.id, provider)
        set.entries.push(entry)
      }
    }
    if (isTracing()) for (const [id, provider] of set.byId) set.byId.set(id, new TracedProvider(id, provider))
    return set
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#agent)?.destroy()
  }

  /** Until the first generation, no process loads the client. */
  #connections(): Promise<Agent> {
    // Once: importing a module again costs a tenth of the rest of a request.
    this.#agent ??= this.#connect()
    return this.#agent
  }

  async #connect(): Promise<Agent> {
    const { Agent } = await import('undici')
    return new Agent({
      allowH2: false,
      pipelining: 1,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: this.#timeoutMs,
      bodyTimeout: this.#timeoutMs,
    })
  }
}

function openEcho(): ModelProvider {
  const { id, models } = echoEntry
  // The listed context of portico/echo is larger than any request, so counting would be wasted.
  const small = models.filter((model) => model.id !== 'echo')
  const lengths = new Map(small.map(({ id, contextLength = Infinity }) => [id, contextLength]))
  return new BoundedContext(id, new EchoProvider(id), lengths)
}
