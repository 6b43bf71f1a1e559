import type { Agent } from 'undici'
import type { ProviderTimeouts } from '#gen/portico/inference/v1/inference_pb.js'
import { Rejection } from '#shared/rejection.ts'
import type { ApiKey } from './api-key.ts'
import { errorIn, statusIn } from './error-body.ts'
import { rejectionForStatus, unavailable } from './provider-errors.ts'
import { type ResponseHead, ResponseReader } from './response-reader.ts'

const MAX_ERROR_BYTES = 64 * 1024
/** A shorter configured header is taken for a word, not a secret. */
const LEAST_SECRET = 12
/** A shorter piece of a secret gives nothing away. */
const LEAST_CUT = 4
const EVENT_STREAM = 'text/event-stream'
const OURS = new Set([
  ...['authorization', 'x-api-key', 'api-key', 'host', 'content-length', 'content-type', 'content-encoding', 'accept'],
  ...['accept-encoding', 'connection', 'keep-alive', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding'],
  ...['upgrade', 'expect'],
])

/** Where a provider is. The address only comes from the operator's configuration. */
export interface UpstreamOptions {
  readonly providerId: string
  /** Without a trailing slash. */
  readonly baseUrl: string
  /** Appended to every URL: `api-version=1`; empty: nothing. */
  readonly query?: string | undefined
  /** Sent with each request; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Undefined: the provider needs no key. */
  readonly key: ApiKey | undefined
  /** The headers that carry a key, names in lower case; those in `headers` replace them. */
  readonly credentials: (key: string) => Readonly<Record<string, string>>
  /** The connections to all providers. */
  readonly agent: Agent
}

/** What is sent to a provider. */
export interface UpstreamRequest {
  /** Headers of the caller. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Whether a whole answer is requested instead of a stream. */
  readonly whole: boolean
  /** Time limits of the caller; undefined: none. */
  readonly timeouts?: ProviderTimeouts | undefined
  readonly signal: AbortSignal
}

/** A provider's HTTP server. */
export class Upstream {
  readonly #options: UpstreamOptions
  readonly #origin: string
  readonly #path: string
  readonly #search: string

  constructor(options: UpstreamOptions) {
    this.#options = options
    const url = new URL(options.baseUrl)
    this.#origin = url.origin
    this.#path = url.pathname === '/' ? '' : url.pathname
    this.#search = options.query ? `?${options.query}` : ''
  }

  /**
   * Sends a request and returns the reader of its response, once its kind is known to be the requested one. Any other
   * response is rejected by its status, with the provider's message. Headers of the caller never replace the provider's
   * own. Before a whole answer, a provider is silent for as long as it generates, so only the signal ends that wait.
   */
  async post(path: string, { headers, body, whole, timeouts, signal }: UpstreamRequest): Promise<ResponseReader> {
    const { key, credentials, headers: configured } = this.#options
    const proof = key === undefined ? {} : credentials(await key.current())
    const own = {
      'content-type': 'application/json',
      accept: whole ? 'application/json' : EVENT_STREAM,
      ...proof,
      ...configured,
    }
    const merged: Record<string, string> = {}
    for (const [name, value] of Object.entries(headers)) {
      if (!OURS.has(name.toLowerCase())) merged[name.toLowerCase()] = value
    }
    const reader = new ResponseReader(this.#options.providerId, signal)
    this.#options.agent.dispatch(
      {
        origin: this.#origin,
        path: this.#path + path + this.#search,
        method: 'POST',
        headers: { ...merged, ...own },
        body,
        ...(timeouts?.headersMs !== undefined && { headersTimeout: timeouts.headersMs }),
        ...(timeouts?.chunkMs !== undefined && { bodyTimeout: timeouts.chunkMs }),
        ...(whole && { headersTimeout: 0 }),
      },
      reader,
    )
    try {
      const { status, headers: answered } = await reader.head()
      if (status === 200 && (whole || isEventStream(answered))) return reader
      throw this.#refusal(status, await reader.beginning(MAX_ERROR_BYTES), answered['retry-after'] ?? '')
    } catch (error) {
      reader.close()
      throw error
    }
  }

  #refusal(status: number, body: string, retryAfter: string): Error {
    const { providerId } = this.#options
    const error = errorIn(body)
    const message = this.#masked(error.message)
    // Some servers respond with 200 even to errors.
    const reported = status < 300 ? statusIn(error) : status
    if (reported === undefined) return unavailable(providerId, message || 'The answer is not an event stream')
    const code = this.#masked(error.code)
    return rejectionForStatus(providerId, reported, message || `Status ${status}`, { retryAfter, code })
  }

  /** Removes the keys and headers of the configuration from an error of this server, since servers repeat them. */
  withoutSecrets(error: unknown): unknown {
    if (!(error instanceof Rejection)) return error
    const metadata = Object.entries(error.metadata).map(([name, text]) => [name, this.#masked(text)])
    return new Rejection(error.reason, Object.fromEntries(metadata), { cause: error.cause })
  }

  #masked(text: string): string {
    const { key, headers } = this.#options
    const values = Object.values(headers).filter(({ length }) => length >= LEAST_SECRET)
    return [...(key?.secrets ?? []), ...values].reduce(
      (left, secret) => withoutEnd(left.replaceAll(secret, '***'), secret),
      text,
    )
  }
}

/** A message that was cut in the middle of a secret. */
function withoutEnd(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= LEAST_CUT; length--) {
    if (text.endsWith(`${secret.slice(0, length)}…`)) return `${text.slice(0, -length - 1)}***…`
  }
  return text
}

export function isEventStream(headers: ResponseHead['headers']): boolean {
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '')
}
