import { Agent } from 'undici'
import type { ProviderConfig } from '#services/inference/config-file.ts'
import { echoEntry, type ProviderEntry } from '#services/inference/domain/model-list.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { isTracing } from '#shared/telemetry/tracing.ts'
import { BoundedContext } from '../echo/bounded-context.ts'
import { EchoProvider } from '../echo/provider.ts'
import { entryOf, openProvider } from './open-provider.ts'
import { TracedProvider } from './traced-provider.ts'

const CONNECT_TIMEOUT_MS = 10_000

/**
 * The configured providers and the built-in one, by id; with spans if tracing is on by now. Disposing it closes their
 * connections.
 */
export class ProviderSet implements AsyncDisposable {
  readonly byId = new Map([[echoEntry.id, openEcho()]])
  /** What is known about the configured ones. */
  readonly entries: readonly Omit<ProviderEntry, 'closed'>[]
  readonly #agent: Agent

  constructor(providers: readonly ProviderConfig[], timeoutMs: number, logger: Logger) {
    const connect = { timeout: CONNECT_TIMEOUT_MS }
    const timeouts = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
    this.#agent = new Agent({ allowH2: false, pipelining: 1, connect, ...timeouts })
    this.entries = providers.map(entryOf)
    for (const config of providers) this.byId.set(config.id, openProvider(config, this.#agent, logger))
    if (isTracing()) for (const [id, provider] of this.byId) this.byId.set(id, new TracedProvider(id, provider))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy()
  }
}

function openEcho(): ModelProvider {
  const { id, models } = echoEntry
  // The listed context of portico/echo is larger than any request, so counting would be wasted.
  const small = models.filter((model) => model.id !== 'echo')
  const lengths = new Map(small.map(({ id, contextLength = Infinity }) => [id, contextLength]))
  return new BoundedContext(id, new EchoProvider(id), lengths)
}
