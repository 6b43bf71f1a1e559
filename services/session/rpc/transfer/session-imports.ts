import type { ServiceImpl } from '@connectrpc/connect'
import type { Session as SessionMessage } from '#gen/portico/session/v1/session_pb.js'
import type { SessionImport, SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { type ImportedSession, importedSession } from '#services/session/domain/lifetime/imported-session.ts'
import { NO_TOKENS } from '#services/session/domain/session.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { StagedSession } from '#services/session/ports/session-staging.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { ImportHolds } from '#services/session/run/removal/import-holds.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check, parseText } from '#shared/rpc/parse.ts'
import { outcomes } from '../enums.ts'
import { parseAgentName, parseMetadata, parseModel, parseRules, parseSessionId } from '../parse.ts'
import { peerCallOf } from '../peer-call.ts'
import { sessionNotFound } from '../session/get-session.ts'
import { sessionToProto } from '../session/session-to-proto.ts'
import { messageFromProto, requireTime, timeFromProto, tokensFromProto } from './message-from-proto.ts'

const MAX_TITLE_LENGTH = 4_096
const MAX_PATH_LENGTH = 4_096
const MAX_CONTENT_BYTES = 20 * 1_048_576

interface Dependencies {
  readonly store: SessionStore
  readonly blobs: BlobStore
  readonly catalog: Catalog
  readonly remover: { wake(): void }
}

type Handlers = Pick<
  ServiceImpl<typeof SessionService>,
  | 'beginSessionImport'
  | 'putImportedContent'
  | 'appendImportedMessages'
  | 'commitSessionImport'
  | 'abandonSessionImport'
>

/** The calls by which a session is imported, each by itself, so that any process can take any of them (ADR 17). */
export function sessionImports({ store, blobs, catalog, remover }: Dependencies): Handlers {
  const holds = new ImportHolds(blobs)
  return {
    async beginSessionImport({ session }, context) {
      const { workspaceId } = principalOf(context)
      const { id, parentId } = parseSession(session)
      const parent = parentId === undefined ? undefined : await store.getSession(workspaceId, parentId)
      if (parentId !== undefined && parent === undefined) throw sessionNotFound(parentId)
      const { key } = await store.stageSession(workspaceId, id, 'import')
      return { import: { sessionId: id, key } }
    },
    async putImportedContent({ import: given, data }, context) {
      const { workspace, key } = stagedOf(given, principalOf(context).workspaceId)
      check(data.length <= MAX_CONTENT_BYTES, 'data', `must have at most ${MAX_CONTENT_BYTES} bytes`)
      const { hash } = await blobs.put(workspace, data, holds.of(key))
      return { contentHash: hash }
    },
    async appendImportedMessages(request, context) {
      const staged = stagedOf(request.import, principalOf(context).workspaceId)
      if (request.messages.length === 0) await store.extendStaged(staged)
      else await store.appendStaged(staged, request.messages.map(messageFromProto))
      return {}
    },
    async commitSessionImport(request, context) {
      const call = peerCallOf(context)
      const staged = stagedOf(request.import, call.principal.workspaceId)
      const imported = parseSession(request.session)
      const directory = parseText('directory', request.directory, 0, MAX_PATH_LENGTH)
      const location = await catalog.resolveLocation(call, directory)
      const session = await store.commitStaged(staged, importedSession(imported, location))
      await holds.end(staged.key)
      return { session: sessionToProto(session) }
    },
    async abandonSessionImport(request, context) {
      const staged = stagedOf(request.import, principalOf(context).workspaceId)
      await store.giveUpStaged(staged)
      await holds.end(staged.key)
      remover.wake()
      return {}
    },
  }
}

function stagedOf(given: SessionImport | undefined, workspace: string): StagedSession {
  check(given !== undefined, 'import', 'must be there')
  return { workspace, sessionId: given.sessionId, key: given.key, source: undefined }
}

function parseSession(given: SessionMessage | undefined): ImportedSession {
  check(given !== undefined, 'session', 'must be there')
  const { title, agent, model, parentId, costNanos, tokens } = given
  const timeIdle = timeFromProto(given.idleTime)
  const viewed = timeFromProto(given.viewTime)
  return {
    id: parseSessionId(given.sessionId),
    parentId: parentId === '' ? undefined : parseSessionId(parentId),
    title: title === undefined ? undefined : parseText('title', title, 0, MAX_TITLE_LENGTH),
    agent: agent === '' ? undefined : parseAgentName('agent', agent),
    model: model === undefined ? undefined : parseModel(model),
    metadata: parseMetadata(given.metadata),
    permissions: parseRules(given.permissions),
    costNanos,
    tokens: tokens === undefined ? NO_TOKENS : tokensFromProto(tokens),
    // Only together with the time at which it came (instance facts 3.7).
    outcome: timeIdle === undefined ? undefined : outcomes.fromProto(given.outcome),
    timeCreated: requireTime(given.createTime),
    timeIdle,
    timeViewed: timeIdle === undefined || viewed === undefined ? undefined : Math.min(viewed, timeIdle),
  }
}
