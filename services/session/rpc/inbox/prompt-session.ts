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
import { parseAgentName, parseMessageId, parseMetadata } from '../parse.ts'
import { peerCallOf } from '../peer-call.ts'

const MAX_TEXT_LENGTH = 1_048_576
const MAX_ATTACHMENTS = 32
/** Of a file's name. */
const MAX_NAME_LENGTH = 1_024
const MAX_DESCRIPTION_LENGTH = 16_384
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
    const inputs = parseFiles(request.files)
    const files = inputs.length === 0 ? [] : await filesOf(dependencies, peerCallOf(context), sessionId, id, inputs)
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
  const { agents } = request
  check(agents.length <= MAX_ATTACHMENTS, 'agents', `must have at most ${MAX_ATTACHMENTS} items`)
  return {
    text: parseText('text', request.text, 0, MAX_TEXT_LENGTH),
    agents: agents.map(({ name, mention }, i) => ({
      name: parseAgentName('agents', name),
      mention: parseMention(`agents[${i}].mention`, mention),
    })),
    metadata: parseMetadata(request.metadata),
  }
}

/** What a mention repeats of the text is no longer than that may be. */
function parseMention(field: string, mention: Mention | undefined): Mention | undefined {
  if (mention === undefined) return undefined
  const { start, end, text } = mention
  return { start, end, text: parseText(`${field}.text`, text, 0, MAX_TEXT_LENGTH) }
}

/** A file as it was sent. */
type SentFile = Pick<FileAttachment, 'name' | 'description' | 'mention'> & { readonly uri: string }

function parseFiles(files: readonly FileInput[]): readonly SentFile[] {
  check(files.length <= MAX_ATTACHMENTS, 'files', `must have at most ${MAX_ATTACHMENTS} items`)
  return files.map(({ uri, name, description, mention }, i) => {
    const text = (member: string, value: string | undefined, most: number): string | undefined =>
      value === undefined ? undefined : parseText(`files[${i}].${member}`, value, 0, most)
    return {
      uri,
      name: text('name', name, MAX_NAME_LENGTH),
      description: text('description', description, MAX_DESCRIPTION_LENGTH),
      mention: parseMention(`files[${i}].mention`, mention),
    }
  })
}

async function filesOf(
  { store, blobs, catalog }: Dependencies,
  call: PeerCall,
  sessionId: string,
  messageId: string,
  files: readonly SentFile[],
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
  { uri, name, description, mention }: SentFile,
): Promise<FileAttachment> {
  const file = await catalog.readAttachment(call, directory, uri)
  return {
    blob: await blobs.put(call.principal.workspaceId, file.data),
    mime: file.mime,
    uri: uri.startsWith('data:') ? undefined : uri,
    name: name ?? (file.name === '' ? undefined : file.name),
    description,
    mention,
  }
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
