import { hash } from 'node:crypto'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Delivery as DeliveryMessage, type FileInput } from '#gen/portico/session/v1/session_pb.js'
import type { PromptSessionRequest, SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { Delivery } from '#services/session/domain/inbox.ts'
import { admitPrompt } from '#services/session/domain/inputs.ts'
import type { FileAttachment, Mention, Prompt } from '#services/session/domain/message.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { isObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check, parseText } from '#shared/rpc/parse.ts'
import { readBlobs } from '../blob-contents.ts'
import { deliveries } from '../enums.ts'
import { promptToProto } from '../message/message-to-proto.ts'
import { parseMessageId, parseMetadata } from '../parse.ts'
import { peerCallOf } from '../peer-call.ts'

const MAX_TEXT_LENGTH = 1_048_576
const MAX_ATTACHMENTS = 32
const MAX_NAME_LENGTH = 256
/** All files of one prompt together, in bytes: what carries them must stay below the 64 MiB of a message. */
const MAX_FILES_SIZE = 40 * 1_048_576

interface Dependencies {
  readonly store: SessionStore
  readonly blobs: BlobStore
  readonly catalog: Catalog
}

/**
 * Admits one input. Files are read and kept before the admission; the answer means that all of it is durable. An id that
 * was admitted before is answered from the store, and its files are not read again.
 */
export function promptSession(dependencies: Dependencies): ServiceImpl<typeof SessionService>['promptSession'] {
  const { store, blobs } = dependencies
  return async (request, context) => {
    const admitter = principalOf(context)
    const { workspaceId } = admitter
    const { sessionId } = request
    const id = parseMessageId(request.messageId)
    const words = parsePrompt(request)
    const files = request.files.length === 0 ? [] : await filesOf(dependencies, peerCallOf(context), request, id)
    const admission = {
      ...{ id, prompt: { ...words, files }, delivery: parseDelivery(request.delivery) },
      ...{ digest: digestOf(request), admitter, wake: !request.parked },
    }
    const item = await store.revise(
      { workspace: workspaceId, sessionId },
      (reads) => reads.takenId(id),
      (revision, taken) => admitPrompt(revision, taken, admission) ?? refuse(id),
    )
    const { prompt, delivery, timeCreated } = item
    const contents = await readBlobs(blobs, workspaceId, [{ type: 'user', id, timeCreated, prompt }])
    return {
      item: {
        messageId: item.id,
        sessionId: item.sessionId,
        createTime: timestampFromMs(timeCreated),
        prompt: promptToProto(prompt, contents),
        delivery: deliveries.toProto(delivery),
      },
    }
  }
}

/** The id names something else. */
function refuse(id: string): never {
  throw new Rejection('PROMPT_CONFLICT', { message_id: id })
}

function parsePrompt(request: PromptSessionRequest): Omit<Prompt, 'files'> {
  const { files, agents } = request
  check(files.length <= MAX_ATTACHMENTS, 'files', `must be at most ${MAX_ATTACHMENTS}`)
  check(agents.length <= MAX_ATTACHMENTS, 'agents', `must be at most ${MAX_ATTACHMENTS}`)
  return {
    text: parseText('text', request.text, 0, MAX_TEXT_LENGTH),
    agents: agents.map(({ name, mention }) => ({
      name: parseText('agents', name, 1, MAX_NAME_LENGTH),
      mention: mentionOf(mention),
    })),
    metadata: parseMetadata(request.metadata),
  }
}

async function filesOf(
  { store, blobs, catalog }: Dependencies,
  call: PeerCall,
  { sessionId, files }: PromptSessionRequest,
  messageId: string,
): Promise<readonly FileAttachment[]> {
  const { workspaceId } = call.principal
  const key = { workspace: workspaceId, sessionId }
  const { directory, taken } = await store.inspect(
    key,
    (reads) => reads.takenId(messageId),
    ({ state }, taken) => ({ directory: state.directory, taken }),
  )
  if (taken?.sessionId === sessionId && taken.input !== undefined) return taken.input.item.prompt.files
  const attachments: FileAttachment[] = []
  let size = 0
  for (const input of files) {
    const attachment = await readFile(blobs, catalog, call, directory, input)
    size += attachment.blob.size
    if (size > MAX_FILES_SIZE) {
      throw new Rejection('ATTACHMENT_INVALID', { problem: `Files of a prompt have at most ${MAX_FILES_SIZE} bytes` })
    }
    attachments.push(attachment)
  }
  return attachments
}

async function readFile(
  blobs: BlobStore,
  catalog: Catalog,
  call: PeerCall,
  directory: string,
  { uri, name, description, mention }: FileInput,
): Promise<FileAttachment> {
  const file = await catalog.readAttachment(call, directory, uri)
  return {
    blob: await blobs.put(call.principal.workspaceId, file.data),
    mime: file.mime,
    uri: uri.startsWith('data:') ? undefined : uri,
    name: name ?? (file.name === '' ? undefined : file.name),
    description,
    mention: mentionOf(mention),
  }
}

function mentionOf(mention: Mention | undefined): Mention | undefined {
  return mention === undefined ? undefined : { start: mention.start, end: mention.end, text: mention.text }
}

function parseDelivery(delivery: DeliveryMessage): Delivery {
  const known = delivery === DeliveryMessage.UNSPECIFIED ? 'steer' : deliveries.fromProto(delivery)
  check(known !== undefined, 'delivery', 'must be DELIVERY_STEER or DELIVERY_QUEUE')
  return known
}

/**
 * What has to be the same when an id is sent again: what it means, in whatever order its members come. Whether it wakes
 * the session may differ.
 */
function digestOf({ text, files, agents, metadata, delivery }: PromptSessionRequest): string {
  const sent = JSON.stringify([text, files, agents, metadata ?? null, parseDelivery(delivery)], inOrder)
  return hash('sha256', sent, 'base64url')
}

/** For JSON.stringify: objects with their members in order of their names. */
function inOrder(_: string, value: unknown): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
