import { pino } from 'pino'
import { createApp } from '#gateway/app.ts'
import { createClients } from '#gateway/clients.ts'
import { readConfig } from '#gateway/config.ts'
import { type Listener, listen } from '#gateway/listen.ts'
import { type Config, readConfig as readInferenceConfig } from '#services/inference/config.ts'
import { systemClock } from '#shared/clock.ts'
import { openIdentity, testKeys } from '#test/support/identity.ts'
import { openInference } from '#test/support/inference.ts'
import { type Connect, connectLocal } from '#test/support/transports.ts'

/** The LLM gateway as in the single process: facade, inference and identity, with no stub between them. */
export interface TestGateway extends AsyncDisposable {
  readonly url: string
  readonly listener: Listener
  /** Folder of the inference service. */
  readonly directory: string
  /** Lines that were logged, parsed. */
  readonly log: Record<string, unknown>[]
  /** Posts a JSON body with the workspace key. */
  post(path: string, body: unknown, headers?: Record<string, string>, signal?: AbortSignal): Promise<Response>
}

/** Providers as the environment of an operator would name them. */
export function providersOf(env: Record<string, string>): Pick<Config, 'providers' | 'defaultModel'> {
  const { providers, defaultModel } = readInferenceConfig({ PORTICO_DATA_DIR: '/nowhere', ...env })
  return { providers, defaultModel }
}

/** Opens a gateway on a free port; `env` is the facade's environment. Disposing it leaves nothing behind. */
export async function openGateway(
  inferenceConfig: Partial<Config> = {},
  env: Record<string, string> = {},
  connect: Connect = connectLocal,
): Promise<TestGateway> {
  const log: Record<string, unknown>[] = []
  const logger = pino({ level: 'debug' }, { write: (line: string) => void log.push(JSON.parse(line)) })
  const identity = await openIdentity(connect)
  const keys = await connect(identity.routes)
  const inference = await openInference(inferenceConfig, keys.transport)
  const config = readConfig({ PORTICO_PORT: '0', ...env })
  const listener = await listen(config, logger)
  const services = await connect(identity.routes, inference.routes)
  const { transport } = services
  const clients = createClients({ session: transport, catalog: transport, inference: transport, identity: transport })
  const { lifecycle, url } = listener
  listener.serve(createApp({ config, clients, clock: systemClock, logger, lifecycle, urls: () => [url] }))
  return {
    ...{ url, listener, directory: inference.directory, log },
    post(path, body, headers = {}, signal) {
      const authorization = `Bearer ${testKeys.workspace}`
      const all = { authorization, 'content-type': 'application/json', ...headers }
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return fetch(`${url}${path}`, { method: 'POST', headers: all, body: text, ...(signal && { signal }) })
    },
    async [Symbol.asyncDispose]() {
      await listener[Symbol.asyncDispose]()
      await services[Symbol.asyncDispose]()
      await keys[Symbol.asyncDispose]()
      await inference[Symbol.asyncDispose]()
      await identity[Symbol.asyncDispose]()
    },
  }
}
