import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Client, Transport } from '@connectrpc/connect'
import pino from 'pino'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { Message_Role, type MessageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { reasons } from '#services/identity/reasons.ts'
import { type Config, readConfig } from '#services/inference/config.ts'
import { open, storeSchema } from '#services/inference/open.ts'
import { systemClock } from '#shared/clock.ts'
import type { Principal } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { writeEmptyStores } from '#test/support/empty-stores.ts'

/** The local operator. */
export const operator: Principal = {
  organizationId: 'org_1',
  workspaceId: 'wrk_1',
  apiKeyId: '',
  kind: 'local-operator',
}

/** An inference service of a test. */
export interface TestInference extends AsyncDisposable {
  readonly routes: Routes
  /** The folder of the ledger. */
  readonly directory: string
  /** Removes the folder. */
  remove(): Promise<void>
}

/** An identity service that accepts every key, without limits. */
const keysOfAll: Routes = {
  domain: 'identity',
  reasons,
  services: [{ service: IdentityService, implementation: { checkApiKey: async () => ({}) } }],
}

/** An inference service of its own in a folder of its own; disposing it removes both, or leaves the folder. */
export async function openInference(
  { keepDirectory = false, ...config }: Partial<Config> & { keepDirectory?: boolean } = {},
  identity = createLocalTransport(keysOfAll),
  clock = systemClock,
): Promise<TestInference> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-inference-'))
  await writeEmptyStores(directory, storeSchema)
  const defaults = { ...readConfig({ PORTICO_DATA_DIR: directory }), generationTimeoutMs: 60_000 }
  const logger = pino({ level: 'silent' })
  const service = await open({ ...defaults, ...config }, { clock, logger, identity })
  const remove = (): Promise<void> => rm(directory, { recursive: true })
  return {
    routes: service.routes,
    directory,
    remove,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      if (!keepDirectory) await remove()
    },
  }
}

/** An inference service that a client is connected to. */
export interface ConnectedInference extends AsyncDisposable {
  readonly client: Client<typeof InferenceService>
  readonly directory: string
  /** Ends service and connection; the folder stays until the end of the test in any case. */
  stop(): Promise<void>
}

/** Opens an inference service, and connects a client to it. */
export async function openConnected(
  connect: (routes: Routes) => Promise<AsyncDisposable & { readonly transport: Transport }>,
  config: Partial<Config> = {},
): Promise<ConnectedInference> {
  const running = new AsyncDisposableStack()
  const { remove, directory, routes, ...service } = await openInference({ ...config, keepDirectory: true })
  running.use(service)
  const { transport } = running.use(await connect(routes))
  const stop = (): Promise<void> => running.disposeAsync()
  return {
    client: createClient(InferenceService, transport),
    directory,
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
      await remove()
    },
  }
}

/** A user message with one text. */
export function userMessage(text: string): MessageInitShape<typeof MessageSchema> {
  return { role: Message_Role.USER, parts: [{ part: { case: 'text', value: { text } } }] }
}

/** A message without its `$typeName`s, so that a test can write it out whole. */
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== '$typeName')
      .map(([name, inner]) => [name, plain(inner)]),
  )
}
