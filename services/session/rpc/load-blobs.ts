import type { AssistantPart, BlobRef, Message, Prompt, ToolContent } from '../domain/message.ts'
import type { BlobStore } from '../ports.ts'

/** Content by hash. */
export type LoadedBlobs = ReadonlyMap<string, Uint8Array>

const NONE: LoadedBlobs = new Map()

/** Reads content that messages refer to; what is not there is left out. */
export async function loadBlobs(blobs: BlobStore, workspace: string, refs: readonly BlobRef[]): Promise<LoadedBlobs> {
  if (refs.length === 0) return NONE
  const loaded = new Map<string, Uint8Array>()
  // One after the other: together they may be much larger than what is sent in the end.
  for (const { hash } of refs) {
    const data = loaded.has(hash) ? undefined : await blobs.get(workspace, hash)
    if (data !== undefined) loaded.set(hash, data)
  }
  return loaded
}

/** What a message refers to. */
export function blobsOf(message: Message): BlobRef[] {
  if (message.type === 'user') return blobsOfPrompt(message.prompt)
  return message.type === 'assistant' ? message.parts.flatMap(blobsOfPart) : []
}

/** What a prompt refers to. */
export function blobsOfPrompt({ files }: Prompt): BlobRef[] {
  return files.map(({ blob }) => blob)
}

/** What the answer of a tool refers to. */
export function blobsOfContent(contents: readonly ToolContent[]): BlobRef[] {
  return contents.flatMap((content) => (content.type === 'file' ? [content.blob] : []))
}

function blobsOfPart(part: AssistantPart): BlobRef[] {
  return part.type === 'tool' ? blobsOfContent(part.content) : []
}
