import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { create } from '@bufbuild/protobuf'
import type { CallOptions, Client } from '@connectrpc/connect'
import { pino } from 'pino'
import { AgentSchema, type EditedPrompt, SkillSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { SessionLocationSchema } from '#gen/portico/session/v1/session_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { reasons } from '#services/catalog/reasons.ts'
import { openFileBlobStore } from '#services/session/adapters/files/blob-store.ts'
import { peerError } from '#services/session/adapters/rpc/peer-errors.ts'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import { createRoutes } from '#services/session/routes.ts'
import { EventHub } from '#services/session/run/events/event-hub.ts'
import { Remover } from '#services/session/run/lifetime/remover.ts'
import { pause } from '#services/session/run/pause.ts'
import { PromptHooks } from '#services/session/run/prompt-hooks.ts'
import { SessionWatchers } from '#services/session/run/session-watchers.ts'
import type { TitleRequest } from '#services/session/run/titles/titles.ts'
import type { Server } from '#shared/process/serve.ts'
import { toConnectError } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import type { StoreState } from '#shared/stores/store-health.ts'
import { type UseCases, withUseCases } from '#test/support/session-use-cases.ts'
import { type Connect, silentLogger } from '#test/support/transports.ts'

/** The handlers of the session service over a real store, without anything that runs what is admitted. */
export interface SessionRpc extends AsyncDisposable {
  readonly client: Client<typeof SessionService>
  readonly store: UseCases
  /** Over HTTP/2: who serves. */
  readonly server: Server | undefined
  readonly blobs: BlobStore
  /** Where volatile events are published. */
  readonly hub: EventHub
  /** The service's time in milliseconds; a test moves it. */
  readonly clock: { time: number }
  /** The attachments that the catalog was asked for. */
  readonly read: string[]
  /** The titles that were requested. */
  readonly titled: TitleRequest[]
  /** What the plugins of every directory make of a prompt, and how often the catalog was asked whether any do. */
  readonly plugins: FakePlugins
  /** Log lines of its handlers. */
  readonly warnings: readonly Readonly<Record<string, unknown>>[]
  /** From now on the store counts as damaged. */
  damage(): void
  /** Options of a call by a key of `wrk_1`, or of another workspace. */
  as(workspaceId?: string): CallOptions
}

interface FakePlugins {
  /** Undefined: none changes prompts. */
  edit: ((prompt: EditedPrompt) => EditedPrompt) | undefined
  /** Resolves before the answer whether any plugins change prompts. */
  lookup?: (() => Promise<void>) | undefined
  lookups: number
}

const HOUR_MS = 3_600_000

/** Opens them in a folder of their own; the clock stands at 2026-01-01. Disposing it removes everything. */
export async function openSessionRpc(connect: Connect): Promise<SessionRpc> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-session-'))
  const clock = { time: Date.UTC(2026, 0, 1), now: () => clock.time, monotonic: () => clock.time }
  const store = await openSqliteSessionStore({ path: join(directory, 'session.sqlite'), clock })
  const blobs = await openFileBlobStore({ directory: join(directory, 'blobs'), uses: store.blobUses })
  const read: string[] = []
  const titled: TitleRequest[] = []
  const titles = { find: (request: TitleRequest) => void titled.push(request), underWay: new Set<string>() }
  // Nothing polls for the work of others: waiters are notified.
  const watchers = new SessionWatchers(store, HOUR_MS)
  const hub = new EventHub(store)
  const plugins: FakePlugins = { edit: undefined, lookups: 0 }
  const catalog = catalogOf(read, plugins)
  const warnings: Record<string, unknown>[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line)) })
  const promptHooks = new PromptHooks({ catalog, clock, logger })
  const remover = new Remover({ store, blobs, catalog, logger: silentLogger, pause, pollMs: HOUR_MS })
  let state: StoreState = { ok: true }
  const health = { state: () => state, onChange: () => ({ [Symbol.dispose]() {} }) }
  const given = { store, blobs, catalog, hub, watchers, remover, titles, health, clock, logger, promptHooks }
  const routes = createRoutes(given)
  const connection = await connect(routes)
  return {
    store: withUseCases(store),
    blobs,
    clock,
    read,
    titled,
    hub,
    plugins,
    warnings,
    damage: () => {
      state = { ok: false, kind: 'damaged' }
    },
    client: createClient(SessionService, connection.transport),
    server: connection.server,
    as: (workspaceId = 'wrk_1') =>
      callOptions({ principal: { organizationId: 'org_1', workspaceId, apiKeyId: 'key_1', kind: 'workspace' } }),
    async [Symbol.asyncDispose]() {
      await connection[Symbol.asyncDispose]()
      watchers[Symbol.dispose]()
      await remover[Symbol.asyncDispose]()
      await blobs[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

/** A catalog with one project, whose files contain their own path; `size:N` has N bytes. */
function catalogOf(read: string[], plugins: FakePlugins): Catalog {
  const other = (): never => {
    throw new Error('No handler of these tests runs a tool')
  }
  return {
    async resolveLocation(_, given = '/project', base) {
      const directory = base === undefined ? given : resolve(base, given.trim())
      if (directory === '/forbidden') throw ofCatalog(new Rejection('LOCATION_FORBIDDEN', { directory }))
      if (directory === '/missing') throw ofCatalog(new Rejection('LOCATION_NOT_FOUND', { directory }))
      if (directory === '/file') {
        throw ofCatalog(new Rejection('LOCATION_INVALID', { directory, problem: 'it is not a directory' }))
      }
      return create(SessionLocationSchema, { directory, projectId: 'global', subpath: '' })
    },
    async getSkill(_, directory, id) {
      if (id === 'nobody') throw ofCatalog(new Rejection('SKILL_NOT_FOUND', { skill_id: id }))
      read.push(`${directory} ${id}`)
      const [, size] = /^size:(\d+)$/.exec(id) ?? []
      const text = size === undefined ? `Text of ${id}` : '\0'.repeat(Number(size))
      return create(SkillSchema, { skillId: id, name: `Name of ${id}`, text })
    },
    async readAttachment(_, directory, uri) {
      read.push(`${directory} ${uri}`)
      if (uri.startsWith('http'))
        throw new Rejection('ATTACHMENT_INVALID', { problem: 'Only data: and file: are read' })
      const [, size] = /^size:(\d+)$/.exec(uri) ?? []
      return {
        data: size === undefined ? new TextEncoder().encode(uri) : new Uint8Array(Number(size)),
        mime: 'text/plain',
        name: uri.startsWith('data:') ? undefined : 'file.txt',
      }
    },
    async getAgent(_, _directory, agentId = 'build') {
      if (agentId === 'nobody') throw ofCatalog(new Rejection('AGENT_NOT_FOUND', { agent_id: agentId }))
      return { agent: create(AgentSchema, { agentId }), generation: 'gen_1', instructions: [] }
    },
    listSubagents: async () => [],
    async listHooks() {
      plugins.lookups++
      await plugins.lookup?.()
      return plugins.edit === undefined ? [] : ['prompt']
    },
    async editPrompt(_, __, ___, prompt) {
      const edited = plugins.edit?.(prompt) ?? prompt
      return { prompt: edited, changedBy: edited === prompt ? [] : ['fake'] }
    },
    reloadLocations: other,
    listTools: other,
    prepareTool: other,
    runTool: other,
    endTools: other,
  }
}

/** What the catalog rejects with, as it comes from the peer. */
function ofCatalog(rejection: Rejection): unknown {
  return peerError('catalog', toConnectError(rejection, 'catalog', reasons), new AbortController())
}
