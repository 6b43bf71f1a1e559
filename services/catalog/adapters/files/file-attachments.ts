import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { create } from '@bufbuild/protobuf'
import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type ReadAttachmentResponse,
  ReadAttachmentResponseSchema,
} from '#gen/portico/catalog/v1/catalog_service_pb.js'
import {
  type AttachmentUri,
  AttachmentUriError,
  readAttachmentUri,
  sliceLines,
} from '#services/catalog/domain/attachment-uri.ts'
import { detectMime } from '#services/catalog/domain/mime.ts'
import type { Attachments } from '#services/catalog/ports/attachments.ts'
import { ownTurn } from '#shared/own-turn.ts'
import { Rejection } from '#shared/rejection.ts'
import { ToolError } from '../tools/tool.ts'
import { goneDirectory, locate, openInside, readDirectoryInside, toToolError } from './confinement.ts'
import { readHandle, UnreadableFileError } from './read-bounded.ts'

const MAX_BYTES = 20 << 20
/** A larger text is examined in its own turn of the event loop. */
const LARGE = 1 << 20

/** Attachments from files of a location and from `data:` URIs. */
export class FileAttachments implements Attachments {
  async read(location: Location, uri: string): Promise<ReadAttachmentResponse> {
    try {
      if (uri.length > LARGE) await ownTurn()
      const parsed = readAttachmentUri(uri, MAX_BYTES)
      if (parsed.type === 'data') return toAttachment(parsed.data)
      return await readFile(location.directory, parsed)
    } catch (error) {
      throw toRejection(error instanceof ToolError ? await goneDirectory(error, location.directory) : error)
    }
  }
}

function toAttachment(data: Uint8Array, name?: string, mime = detectMime(data)): ReadAttachmentResponse {
  return create(ReadAttachmentResponseSchema, { data, mime, name })
}

async function readFile(directory: string, { url, start, end }: Extract<AttachmentUri, { type: 'file' }>) {
  const { real } = await locate(directory, pathOf(url))
  const name = basename(real)
  await using file = await openInside(directory, real)
  if ((await file.stat()).isDirectory()) {
    return toAttachment(await listing(directory, real), name, 'application/x-directory')
  }
  const data = await readHandle(file, MAX_BYTES)
  if (data.length > LARGE) await ownTurn()
  const mime = detectMime(data)
  return toAttachment(mime === 'text/plain' ? sliceLines(data, start, end) : data, name, mime)
}

async function listing(directory: string, real: string): Promise<Uint8Array> {
  const entries = await readDirectoryInside(directory, real)
  const names = entries.map((entry) => entry.name + (entry.isDirectory() ? '/' : ''))
  return Buffer.from(names.join('\n'))
}

// Refuses paths with an encoded slash or null character, paths that are not UTF-8, and those of another machine.
function pathOf(url: URL): string {
  try {
    const path = fileURLToPath(url)
    if (!path.includes('\0')) return path
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof URIError)) throw error
  }
  throw new AttachmentUriError('it is not a path on this machine')
}

function toRejection(error: unknown): unknown {
  const failure = error instanceof UnreadableFileError ? error : toToolError(error, 'the file')
  if (failure instanceof ToolError || failure instanceof AttachmentUriError || failure instanceof UnreadableFileError) {
    return new Rejection('ATTACHMENT_INVALID', { problem: failure.message }, { cause: error })
  }
  return error
}
