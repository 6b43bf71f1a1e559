import type { BlobRef, ToolContent, ToolFile } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AssistantPart, Message } from '#gen/portico/session/v1/message_pb.js'
import type { FileAttachment, InboxItem, Prompt } from '#gen/portico/session/v1/session_pb.js'
import type { BlobStore } from '../ports/blob-store.ts'
import type { SessionKey } from '../ports/lease.ts'

/** Content by hash. */
export type BlobContents = ReadonlyMap<string, Uint8Array>

export const NO_BLOBS: BlobContents = new Map()

const NO_BYTES = new Uint8Array()

export function withContents(message: Message, blobs: BlobContents): Message {
  const { kind } = message
  if (kind.case === 'user') return { ...message, kind: { case: 'user', value: withFiles(kind.value, blobs) } }
  if (kind.case !== 'assistant') return message
  const parts = kind.value.parts.map((part) => partWithContents(part, blobs))
  return { ...message, kind: { case: 'assistant', value: { ...kind.value, parts } } }
}

function partWithContents(whole: AssistantPart, blobs: BlobContents): AssistantPart {
  const { part } = whole
  if (part.case !== 'tool' || part.value.content.length === 0) return whole
  const content = part.value.content.map((piece) => withContent(piece, blobs))
  return { ...whole, part: { case: 'tool', value: { ...part.value, content } } }
}

/** An inbox item as it is sent. */
export function itemWithContents(item: InboxItem, blobs: BlobContents): InboxItem {
  const { payload } = item
  return payload.case === 'prompt'
    ? { ...item, payload: { case: 'prompt', value: withFiles(payload.value, blobs) } }
    : item
}

function withFiles(prompt: Prompt, blobs: BlobContents): Prompt {
  return prompt.files.length === 0 ? prompt : { ...prompt, files: prompt.files.map((file) => filled(file, blobs)) }
}

/** A piece of what a tool returned, as it is sent. */
export function withContent(piece: ToolContent, blobs: BlobContents): ToolContent {
  const { content } = piece
  return content.case === 'file' ? { ...piece, content: { ...content, value: filled(content.value, blobs) } } : piece
}

function filled<F extends FileAttachment | ToolFile>(file: F, blobs: BlobContents): F {
  if (file.source.case !== 'blob') return file
  const value = (blobs.get(file.source.value.hash) ?? NO_BYTES) as Uint8Array<ArrayBuffer>
  return { ...file, source: { case: 'data', value } }
}

/** The content that was read; `missing` is the hash of one that is missing. */
interface BlobContent {
  readonly contents: BlobContents
  readonly missing: string | undefined
}

/** Reads what is referred to, until something is missing: it was removed with its session, or is lost or damaged. */
export async function findContents(
  blobs: Pick<BlobStore, 'get'>,
  workspace: string,
  refs: readonly BlobRef[],
): Promise<BlobContent> {
  if (refs.length === 0) return { contents: NO_BLOBS, missing: undefined }
  const contents = new Map<string, Uint8Array>()
  for (const { hash } of refs) {
    if (contents.has(hash)) continue
    const content = await blobs.get(workspace, hash)
    if (content === undefined) return { contents, missing: hash }
    contents.set(hash, content)
  }
  return { contents, missing: undefined }
}

/**
 * Reads something, and the content that it refers to. If that is missing, it reads again, and `read` rejects if the
 * session was removed in the meantime.
 */
export async function readWithContents<T>(
  blobs: Pick<BlobStore, 'get'>,
  key: SessionKey,
  read: () => Promise<T>,
  refsOf: (record: T) => readonly BlobRef[],
): Promise<{ readonly record: T; readonly contents: BlobContents }> {
  for (let again = false; ; again = true) {
    const record = await read()
    const { contents, missing } = await findContents(blobs, key.workspace, refsOf(record))
    if (missing === undefined) return { record, contents }
    if (again) throw missingBlob(key, missing)
  }
}

/** The error for lost content: in the log, it says which file it was, and of which session. */
export function missingBlob({ workspace, sessionId }: SessionKey, hash: string): Error {
  return new Error(`Blob ${workspace}/${hash} of session ${sessionId} is missing or damaged`)
}
