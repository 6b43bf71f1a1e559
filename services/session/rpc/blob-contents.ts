import type { BlobRef, Message } from '../domain/message.ts'
import type { BlobStore } from '../ports/blob-store.ts'

/** Content by hash. */
export type BlobContents = ReadonlyMap<string, Uint8Array>

export const NO_BLOBS: BlobContents = new Map()

/** Stands for all content: messages name theirs by its hash. */
export const BY_HASH: BlobContents = new Map()

const NO_BYTES = new Uint8Array()

/** The content of a file as a message has it. */
export function contentOf(
  blobs: BlobContents,
  { hash, size }: BlobRef,
): { data: Uint8Array<ArrayBuffer> } | { contentHash: string; contentSize: bigint } {
  if (blobs === BY_HASH) return { contentHash: hash, contentSize: BigInt(size) }
  return { data: (blobs.get(hash) ?? NO_BYTES) as Uint8Array<ArrayBuffer> }
}

/** Reads the content of every file of some messages; one that is not there is a broken store. */
export function readBlobs(blobs: BlobStore, workspace: string, messages: readonly Message[]): Promise<BlobContents> {
  return readContents(blobs, workspace, messages.flatMap(blobsOf))
}

/** Reads what is referred to; what is not there is a broken store. */
export async function readContents(
  blobs: BlobStore,
  workspace: string,
  refs: readonly BlobRef[],
): Promise<BlobContents> {
  if (refs.length === 0) return NO_BLOBS
  const contents = new Map<string, Uint8Array>()
  for (const { hash } of refs) {
    if (contents.has(hash)) continue
    const content = await blobs.get(workspace, hash)
    if (content === undefined) throw new Error(`Blob ${hash} is missing`)
    contents.set(hash, content)
  }
  return contents
}

/** What a message refers to. */
export function blobsOf(message: Message): readonly BlobRef[] {
  if (message.type === 'user') return message.prompt.files.map(({ blob }) => blob)
  if (message.type !== 'assistant') return []
  return message.parts.flatMap((part) =>
    part.type === 'tool' ? part.content.flatMap((content) => (content.type === 'file' ? [content.blob] : [])) : [],
  )
}
