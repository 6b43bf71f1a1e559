import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallOptions, Client, ServiceImpl } from '@connectrpc/connect'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { openFileBlobStore } from '#services/session/adapters/file-blob-store.ts'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite-session-store.ts'
import type { BlobStore, Catalog, SessionStore } from '#services/session/ports.ts'
import { reasons } from '#services/session/reasons.ts'
import { createSession } from '#services/session/rpc/create-session.ts'
import { getMessage } from '#services/session/rpc/get-message.ts'
import { getPermissionRequest } from '#services/session/rpc/get-permission-request.ts'
import { getSession } from '#services/session/rpc/get-session.ts'
import { interruptSession } from '#services/session/rpc/interrupt-session.ts'
import { listActiveSessions } from '#services/session/rpc/list-active-sessions.ts'
import { listMessages } from '#services/session/rpc/list-messages.ts'
import { listPermissionRequests } from '#services/session/rpc/list-permission-requests.ts'
import { listSessions } from '#services/session/rpc/list-sessions.ts'
import { promptSession } from '#services/session/rpc/prompt-session.ts'
import { replyPermissionRequest } from '#services/session/rpc/reply-permission-request.ts'
import { switchSessionAgent } from '#services/session/rpc/switch-session-agent.ts'
import { switchSessionModel } from '#services/session/rpc/switch-session-model.ts'
import { waitSession } from '#services/session/rpc/wait-session.ts'
import { callOptions } from '#shared/call-context.ts'
import { createClient } from '#shared/client.ts'
import { Rejection } from '#shared/rejection.ts'
import { route } from '#shared/routes.ts'
import type { Connect } from '#test/support/transports.ts'

/** The unary handlers of the session service over a real store, with nobody to run what is admitted. */
export interface SessionRpc extends AsyncDisposable {
  readonly client: Client<typeof SessionService>
  readonly store: SessionStore
  readonly blobs: BlobStore
  /** The service's time in milliseconds; a test moves it. */
  readonly clock: { time: number }
  /** Attachments that the catalog was asked for. */
  readonly read: string[]
  /** Options of a call by a key of `wrk_1`, or of another workspace. */
  as(workspaceId?: string): CallOptions
}

/** Opens them in a folder of their own; the clock stands at 2026-01-01. Disposing it removes everything. */
export async function openSessionRpc(connect: Connect): Promise<SessionRpc> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-session-'))
  const clock = { time: Date.UTC(2026, 0, 1), now: () => clock.time, monotonic: () => clock.time }
  const store = await openSqliteSessionStore({ path: join(directory, 'session.sqlite'), clock })
  const blobs = await openFileBlobStore({ directory: join(directory, 'blobs') })
  const read: string[] = []
  const dependencies = { store, blobs, catalog: catalogOf(read) }
  const handlers = {
    createSession: createSession(dependencies),
    getSession: getSession(dependencies),
    listSessions: listSessions(dependencies),
    promptSession: promptSession(dependencies),
    waitSession: waitSession(dependencies),
    interruptSession: interruptSession(dependencies),
    switchSessionAgent: switchSessionAgent(dependencies),
    switchSessionModel: switchSessionModel(dependencies),
    listActiveSessions: listActiveSessions(dependencies),
    listMessages: listMessages(dependencies),
    getMessage: getMessage(dependencies),
    listPermissionRequests: listPermissionRequests(dependencies),
    getPermissionRequest: getPermissionRequest(dependencies),
    replyPermissionRequest: replyPermissionRequest(dependencies),
  }
  const service = route(SessionService, handlers as unknown as ServiceImpl<typeof SessionService>)
  const connection = await connect({ domain: 'session', reasons, services: [service] })
  return {
    ...{ store, blobs, clock, read },
    client: createClient(SessionService, connection.transport),
    as: (workspaceId = 'wrk_1') =>
      callOptions({ principal: { organizationId: 'org_1', workspaceId, apiKeyId: 'key_1', kind: 'workspace' } }),
    async [Symbol.asyncDispose]() {
      await connection[Symbol.asyncDispose]()
      await blobs[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

/** A catalog with one project, whose files say their own path. */
function catalogOf(read: string[]): Catalog {
  const other = (): never => {
    throw new Error('No handler of these tests runs an agent')
  }
  return {
    async resolveLocation(_, directory) {
      if (directory === '/forbidden') throw new Rejection('LOCATION_FORBIDDEN', { directory })
      if (directory === '/missing') throw new Rejection('LOCATION_NOT_FOUND', { directory })
      return { directory: directory === '' ? '/project' : directory, projectId: 'global', subpath: '' }
    },
    async readAttachment(_, directory, uri) {
      read.push(`${directory} ${uri}`)
      if (uri.startsWith('http'))
        throw new Rejection('ATTACHMENT_INVALID', { problem: 'Only data: and file: are read' })
      return {
        data: new TextEncoder().encode(uri),
        mime: 'text/plain',
        name: uri.startsWith('data:') ? '' : 'file.txt',
      }
    },
    getAgent: other,
    listTools: other,
    prepareTool: other,
    runTool: other,
    endTools: other,
  }
}
