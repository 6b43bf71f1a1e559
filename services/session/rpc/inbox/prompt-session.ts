import type { ServiceImpl } from '@connectrpc/connect'
import { type FileInput, FileInputSchema } from '#gen/portico/session/v1/session_pb.js'
import {
  type PromptSessionRequest,
  PromptSessionRequestSchema,
  type SessionService,
} from '#gen/portico/session/v1/session_service_pb.js'
import { admitPrompt } from '#services/session/domain/inbox/inputs.ts'
import type { FileAttachment, Mention, Prompt } from '#services/session/domain/message.ts'
import type { BlobHold, BlobStore } from '#services/session/ports/blob-store.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import { nothing, type SessionStore } from '#services/session/ports/session-store.ts'
import { locationProblem } from '#services/session/run/location-problem.ts'
import { holdingBlobs } from '#services/session/run/removal/holding-blobs.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { invalid, parseText } from '#shared/rpc/parse.ts'
import { findContents, missingBlob } from '../blob-contents.ts'
import { parseAgentName, parseMessageId, parseMetadata } from '../parse.ts'
import { peerCallOf } from '../peer-call.ts'
import { blobsOfItem, itemToProto } from './item-to-proto.ts'
import { digestOf, MAX_TEXT_LENGTH, notAdmitted, parseDelivery } from './parse-admission.ts'

const checkRequest = checkLimits(PromptSessionRequestSchema)
const checkFile = checkLimits(FileInputSchema)
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
    checkRequest(request)
    const words = parsePrompt(request)
    const inputs = parseFiles(request.files)
    const given = { id, delivery: parseDelivery(request.delivery), digest: digestOf(sentBy(request)), admitter }
    const item = await holdingBlobs(blobs, async (hold) => {
      const call = peerCallOf(context)
      const files = await prepare(dependencies, call, request, inputs, hold)
      const admission = { ...given, prompt: { ...words, files }, wake: !request.parked }
      return store.revise(
        { workspace: workspaceId, sessionId },
        (reads) => reads.admissionReads(id),
        (revision, reads) => {
          const admitted = admitPrompt(revision, reads, admission)
          if (admitted === undefined) throw notAdmitted(sessionId, id, reads)
          return admitted
        },
      )
    })
    const { contents, missing } = await findContents(blobs, workspaceId, blobsOfItem(item))
    if (missing === undefined) return { item: itemToProto(item, contents) }
    // Whoever removes the session at the same time comes after the admission, or before it.
    await store.inspect({ workspace: workspaceId, sessionId }, nothing, nothing)
    throw missingBlob(missing)
  }
}

/** What an id stands for. Whether it wakes the session may differ when it is sent again. */
function sentBy({ text, files, agents, metadata, delivery }: PromptSessionRequest): readonly unknown[] {
  return [text, files, agents, metadata ?? null, parseDelivery(delivery)]
}

function parsePrompt(request: PromptSessionRequest): Omit<Prompt, 'files'> {
  const { agents } = request
  return {
    text: request.text,
    agents: agents.map(({ name, mention }, i) => ({
      name: parseAgentName(`agents[${i}].name`, name),
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
  return files.map((file, i) => {
    checkFile(file, `files[${i}]`)
    const { uri, name, description, mention } = file
    return { uri, name, description, mention: parseMention(`files[${i}].mention`, mention) }
  })
}

/** Looks up the agents that are named, and reads the files; neither where the id was admitted before. */
async function prepare(
  { store, blobs, catalog }: Dependencies,
  call: PeerCall,
  { sessionId, messageId, agents }: PromptSessionRequest,
  files: readonly SentFile[],
  hold: BlobHold,
): Promise<readonly FileAttachment[]> {
  if (files.length === 0 && agents.length === 0) return []
  const key = { workspace: call.principal.workspaceId, sessionId }
  const { directory, taken } = await store.inspect(
    key,
    (reads) => reads.takenId(messageId),
    ({ state }, taken) => ({ directory: state.directory, taken }),
  )
  const item = taken?.sessionId === sessionId ? taken.input?.item : undefined
  if (item?.type === 'prompt') return item.prompt.files
  const names = agents.map(({ name }) => name)
  await Promise.all([...new Set(names)].map((name) => findAgent(catalog, call, directory, name, names.indexOf(name))))
  const attachments: FileAttachment[] = []
  let size = 0
  for (const input of files) {
    const attachment = await readFile(blobs, catalog, call, directory, input, hold)
    size += attachment.blob.size
    if (size > MAX_FILES_SIZE) {
      throw new Rejection('ATTACHMENT_INVALID', { problem: `Files of a prompt have at most ${MAX_FILES_SIZE} bytes` })
    }
    attachments.push(attachment)
  }
  return attachments
}

async function findAgent(catalog: Catalog, call: PeerCall, directory: string, name: string, i: number): Promise<void> {
  await catalog.getAgent(call, directory, name).catch((error: unknown) => {
    const isUnknown = error instanceof Rejection && error.reason === 'AGENT_NOT_FOUND'
    const problem = isUnknown ? `Agent not found: ${name}` : locationProblem(error, directory)
    throw problem === undefined ? error : invalid(`agents[${i}].name`, problem)
  })
}

async function readFile(
  blobs: BlobStore,
  catalog: Catalog,
  call: PeerCall,
  directory: string,
  { uri, name, description, mention }: SentFile,
  hold: BlobHold,
): Promise<FileAttachment> {
  const file = await catalog.readAttachment(call, directory, uri).catch((error: unknown) => {
    const problem = locationProblem(error, directory)
    throw problem === undefined ? error : new Rejection('ATTACHMENT_INVALID', { problem }, { cause: error })
  })
  return {
    blob: await blobs.put(call.principal.workspaceId, file.data, hold),
    mime: file.mime,
    uri: uri.startsWith('data:') ? undefined : uri,
    name: name ?? file.name,
    description,
    mention,
  }
}
