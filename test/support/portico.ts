import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { CallOptions, Client, Transport } from '@connectrpc/connect'
import pino from 'pino'
import { createApp } from '#gateway/app/app.ts'
import { createClients } from '#gateway/clients.ts'
import { readConfig as readGatewayConfig } from '#gateway/config.ts'
import { type Listener, listen } from '#gateway/http/listen.ts'
import { ownReadiness } from '#gateway/readiness.ts'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { readConfig as readCatalogConfig } from '#services/catalog/config.ts'
import { open as openCatalog } from '#services/catalog/open.ts'
import { readConfig as readIdentityConfig } from '#services/identity/config.ts'
import { storeSchema as identitySchema, open as openIdentity } from '#services/identity/open.ts'
import { readConfig as readInferenceConfig } from '#services/inference/config.ts'
import { storeSchema as inferenceSchema, open as openInference } from '#services/inference/open.ts'
import { readConfig as readSessionConfig } from '#services/session/config.ts'
import { open as openSession, storeSchema as sessionSchema } from '#services/session/open.ts'
import { systemClock } from '#shared/clock.ts'
import { reasonOf } from '#shared/reasons.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { wrapSteps } from '#shared/streams.ts'
import { AnswerJudge } from '#test/support/answer-judge.ts'
import { writeEmptyStores } from '#test/support/empty-stores.ts'

/** Keys that exist in the first workspace. */
export const PORTICO_KEYS = { api: 'sk-portico-of-the-tests', management: 'mk-portico-of-the-tests' }

/** However slow a machine is, nothing is sent only because time has passed, unless a test wants that. */
export const NO_HURRY = { PORTICO_KEEP_ALIVE_MS: '3600000', PORTICO_HEARTBEAT_MS: '3600000' }

/** The whole product in this process, on a free port, with folders of its own. */
export interface Portico extends AsyncDisposable {
  readonly url: string
  readonly listener: Listener
  /** Default project directory, a real path. */
  readonly project: string
  /** A directory beside the project. */
  readonly outside: string
  /** Lines that were logged, parsed. */
  readonly log: Record<string, unknown>[]
  readonly organizationId: string
  /** The identity service, and the options of an operator's call to it. */
  readonly identity: Client<typeof IdentityService>
  readonly operator: CallOptions
  /** Why the services rejected calls of the gateway. */
  readonly rejections: (string | undefined)[]
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Posts JSON. */
  post(path: string, body: unknown): Promise<Response>
}

/** Starts everything. `files` (path → text) are written into the project; `env` is added to the environment. */
export async function openPortico(
  env: Record<string, string> = {},
  files: Readonly<Record<string, string>> = {},
): Promise<Portico> {
  const stack = new AsyncDisposableStack()
  const judge = stack.use(new AnswerJudge({ declared: true }))
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'portico-')))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const [project, outside, home] = ['project', 'outside', 'home'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const directory of [project, outside, home]) await mkdir(directory)
  // Titles arrive at any time, between the events that a test expects: only projects that want them have them.
  await mkdir(join(home, '.config/opencode'), { recursive: true })
  await writeFile(join(home, '.config/opencode/opencode.json'), '{"agents":{"title":{"disabled":true}}}')
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(project, path)), { recursive: true })
    await writeFile(join(project, path), text)
  }
  const data = join(folder, 'data')
  await writeEmptyStores(data, identitySchema, inferenceSchema, sessionSchema)
  const whole = {
    HOME: home,
    PATH: process.env.PATH ?? '',
    PORTICO_PORT: '0',
    PORTICO_DATA_DIR: data,
    PORTICO_DIRECTORY: project,
    PORTICO_BOOTSTRAP_API_KEY: PORTICO_KEYS.api,
    PORTICO_BOOTSTRAP_MANAGEMENT_KEY: PORTICO_KEYS.management,
    ...NO_HURRY,
    ...env,
  }
  const log: Record<string, unknown>[] = []
  const logger = pino({ level: 'debug' }, { write: (line: string) => void log.push(JSON.parse(line)) })
  const common = { clock: systemClock, logger }
  const config = readGatewayConfig(whole)

  const identity = stack.use(await openIdentity(readIdentityConfig(whole), common))
  const toIdentity = createLocalTransport(identity.routes)
  const { organizationId, workspaceId } = identity.bootstrap
  const inference = stack.use(await openInference(readInferenceConfig(whole), { ...common, identity: toIdentity }))
  const catalog = stack.use(await openCatalog(readCatalogConfig(whole), common))
  const peers = { catalog: createLocalTransport(catalog.routes), inference: createLocalTransport(inference.routes) }
  // Nothing polls: whatever happens in a test happens because of a notification.
  const session = stack.use(await openSession(readSessionConfig(whole), { ...common, ...peers, pollMs: 3_600_000 }))
  const listener = stack.use(await listen(config, logger))
  const { lifecycle, url } = listener
  const rejections: Portico['rejections'] = []
  const clients = createClients({
    identity: noting(rejections, toIdentity),
    inference: noting(rejections, peers.inference),
    catalog: noting(rejections, peers.catalog),
    session: noting(rejections, createLocalTransport(session.routes)),
  })
  const services = { identity, catalog, session, inference }
  const stores = Object.entries(services).map(([name, { routes }]) => [name, routes.store] as const)
  const readiness = ownReadiness(Object.fromEntries(stores))
  const app = createApp({ ...common, config, clients, lifecycle, readiness, urls: () => [url] })
  listener.serve(judge.wrap(app))
  return {
    url,
    listener,
    project,
    outside,
    log,
    organizationId,
    identity: createClient(IdentityService, toIdentity),
    operator: callOptions({ principal: { organizationId, workspaceId, apiKeyId: '', kind: 'local-operator' } }),
    rejections,
    fetch: (path, init) => fetch(`${url}${path}`, init),
    post: (path, body) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Notes why calls are rejected; a stream that its reader left does not count. */
function noting(rejections: Portico['rejections'], transport: Transport): Transport {
  return {
    unary: (...call) =>
      transport.unary(...call).catch((error: unknown) => {
        rejections.push(reasonOf(error)?.reason)
        throw error
      }),
    async stream(...call) {
      const { stream, service, method, header, trailer, message } = await transport.stream(...call)
      const noted = wrapSteps(message, (step) =>
        step().catch((error: unknown) => {
          const reason = reasonOf(error)?.reason
          if (reason !== undefined) rejections.push(reason)
          throw error
        }),
      )
      return { stream, service, method, header, trailer, message: noted }
    },
  }
}
