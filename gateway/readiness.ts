import type { DescService } from '@bufbuild/protobuf'
import { HealthCheckResponse_ServingStatus as Status } from '#gen/grpc/health/v1/health_pb.js'
import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { reasonOf } from '#shared/reasons.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import type { StoreHealth } from '#shared/stores/store-health.ts'
import type { Clients } from './clients.ts'

/**
 * Whether requests should be sent here, and the state of each service. Anybody may read it: it names no path and no
 * host.
 */
export interface ReadinessReport {
  readonly ready: boolean
  readonly reason?: string
  readonly services: Readonly<Record<string, 'ready' | 'unavailable'>>
}

/** What `/readyz` says. */
export interface Readiness {
  report(): Promise<ReadinessReport>
}

/** Readiness of a process that holds the services: each of their stores can be written. */
export function ownReadiness(stores: Readonly<Record<string, StoreHealth | undefined>>): Readiness {
  return {
    async report() {
      const states = Object.entries(stores).map(([name, store]) => [name, store?.state() ?? { ok: true }] as const)
      const services = Object.fromEntries(states.map(([name, { ok }]) => [name, stateOf(ok)]))
      for (const [name, state] of states) {
        if (!state.ok) return { ready: false, reason: `${name}: store ${state.kind}`, services }
      }
      return { ready: true, services }
    },
  }
}

type Service = 'identity' | 'catalog' | 'session' | 'inference'

/** How long a service may take to show that it is reachable, in milliseconds. */
const PROBE_MS = 2_000
const LOOK_MS = 2_000
/** How many failures in a row make a service unavailable; a single slow answer does not count. */
const FAILURES = 3

/**
 * Readiness of a facade whose services are elsewhere: it is ready when it can authenticate, that is when identity
 * accepts its calls and can use its store. Of all services it reports what they say of themselves (grpc.health.v1),
 * stores included. It looks every 2 s by itself, so that a report never waits for a slow service; the first one waits
 * for the first look.
 */
export class PeerReadiness implements Readiness, Disposable {
  readonly #clients: Clients
  readonly #failures: Record<Service, number> = {
    identity: FAILURES,
    catalog: FAILURES,
    session: FAILURES,
    inference: FAILURES,
  }
  readonly #first: Promise<void>
  #timer: NodeJS.Timeout | undefined
  #disposed = false

  constructor(clients: Clients) {
    this.#clients = clients
    this.#first = this.look()
  }

  async report(): Promise<ReadinessReport> {
    await this.#first
    const up = Object.entries(this.#failures).map(([name, failures]) => [name, failures < FAILURES] as const)
    const services = Object.fromEntries(up.map(([name, ok]) => [name, stateOf(ok)]))
    const ready = this.#failures.identity < FAILURES
    return { ready, reason: ready ? undefined : 'identity or its store cannot be reached', services }
  }

  /** Checks every service now, and again later. */
  async look(): Promise<void> {
    clearTimeout(this.#timer)
    const { identity, health } = this.#clients
    const options = callOptions({}, { timeoutMs: PROBE_MS })
    const serves = async (name: Service, { typeName: service }: DescService): Promise<boolean> =>
      (await health[name].check({ service }, options)).status === Status.SERVING
    // Health is served without the internal secret, so another call has to show that identity accepts it. That call has
    // no principal, and is refused for that before it costs a read of the store.
    const accepted = identity.checkApiKey({ keyId: 'key_probe' }, options).catch(requireAnswer)
    await Promise.all([
      this.#note(
        'identity',
        Promise.all([serves('identity', IdentityService), accepted]).then(([serves]) => serves),
      ),
      this.#note('catalog', serves('catalog', CatalogService)),
      this.#note('session', serves('session', SessionService)),
      this.#note('inference', serves('inference', InferenceService)),
    ])
    if (!this.#disposed) this.#timer = setTimeout(() => void this.look(), LOOK_MS).unref()
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    clearTimeout(this.#timer)
  }

  async #note(service: Service, probe: Promise<boolean>): Promise<void> {
    const well = await probe.catch(() => false)
    this.#failures[service] = well ? 0 : this.#failures[service] + 1
  }
}

const OUTAGES: readonly string[] = ['PEER_UNAVAILABLE', 'SERVICE_CLOSING', 'SECRET_REFUSED']

/** A refusal shows that the service is reachable, unless the service accepts no call. */
function requireAnswer(error: unknown): void {
  const reason = reasonOf(error)?.reason
  if (reason === undefined || OUTAGES.includes(reason)) throw error
}

function stateOf(ok: boolean): 'ready' | 'unavailable' {
  return ok ? 'ready' : 'unavailable'
}
