import type { Agent } from 'undici'
import type { ProviderConfig } from '#services/inference/config-file.ts'
import { echoEntry } from '#services/inference/domain/model-list.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { isTracing } from '#shared/telemetry/tracing.ts'
import { AnthropicProvider } from '../anthropic/provider.ts'
import { BoundedContext } from '../echo/bounded-context.ts'
import { EchoProvider } from '../echo/provider.ts'
import { ApiKey } from '../http/api-key.ts'
import { Upstream } from '../http/upstream.ts'
import { dialectOf, profileOf } from '../openai/dialect.ts'
import { OpenaiProvider } from '../openai/provider.ts'
import { ResponsesProvider } from '../openai-responses/provider.ts'
import { configured } from './configured-provider.ts'
import { TracedProvider } from './traced-provider.ts'

const CONNECT_TIMEOUT_MS = 10_000
const ANTHROPIC_VERSION = '2023-06-01'

/** The configured providers and the built-in one, by id; with spans when tracing is on by now. Disposing it closes their connections. */
export class ProviderSet implements AsyncDisposable {
  readonly byId: ReadonlyMap<string, ModelProvider>
  readonly #timeoutMs: number
  #agent: Promise<Agent> | undefined

  constructor(providers: readonly ProviderConfig[], timeoutMs: number, logger: Logger) {
    this.#timeoutMs = timeoutMs
    const byId = new Map([[echoEntry.id, openEcho()]])
    for (const provider of providers) byId.set(provider.id, configured(this.#open(provider, logger), provider))
    if (isTracing()) for (const [id, provider] of byId) byId.set(id, new TracedProvider(id, provider))
    this.byId = byId
  }

  #open(config: ProviderConfig, logger: Logger): ModelProvider {
    const { id, protocol, baseUrl, apiKey, apiKeyFile, headers, keyHeader, query } = config
    const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
    const key = apiKey === undefined ? undefined : new ApiKey(apiKey, apiKeyFile, logger)
    const common = { providerId: id, key, query, agent: () => this.#connections() }
    if (protocol === 'anthropic') {
      const upstream = new Upstream({
        ...common,
        baseUrl: baseUrl.replace(/\/v1$/, ''),
        headers: { 'anthropic-version': ANTHROPIC_VERSION, ...lower },
        credentials: (key) => ({ [keyHeader ?? 'x-api-key']: key }),
      })
      return new AnthropicProvider(id, upstream)
    }
    const credentials = (key: string) => (keyHeader ? { [keyHeader]: key } : { authorization: `Bearer ${key}` })
    const upstream = new Upstream({ ...common, baseUrl, headers: lower, credentials })
    if (protocol === 'openai-responses') return new ResponsesProvider(id, dialectOf(id, baseUrl), upstream)
    return new OpenaiProvider(id, profileOf(id, baseUrl, config.reasoningContent), upstream)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#agent)?.destroy()
  }

  /** A start without providers, and each until its first generation, does without the client. */
  #connections(): Promise<Agent> {
    // Once: an import that was made before costs a request as much as a tenth of all else.
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
  // What portico/echo is listed with is more than anybody sends, and not worth counting.
  const small = models.filter((model) => model.id !== 'echo')
  const lengths = new Map(small.map(({ id, contextLength = Infinity }) => [id, contextLength]))
  return new BoundedContext(id, new EchoProvider(id), lengths)
}
