import type { ToolContent } from '#gen/portico/catalog/v1/catalog_pb.js'
import { completed, fileContent, type ToolOutcome, textContent } from '#services/catalog/domain/tool-outcome.ts'
import { OutputWindow } from '#services/catalog/domain/truncate.ts'
import { isFreeObject, isObject, type JsonObject } from '#shared/json.ts'
import { wellFormed } from '#shared/well-formed.ts'
import { MessageGauge } from '../commands/message-gauge.ts'
import type { FromPlugin } from './host/protocol.ts'

const MAX_PIECES = 16
/** Maximum number of characters of a path, and of the fingerprint of its file. */
const MAX_PATH = 8 << 10
const MAX_METADATA = 32 << 10

/** Parses what a plugin sent. Throws for anything that is not one of the messages, or exceeds the limits of one. */
export function readMessage(text: string): FromPlugin {
  new MessageGauge().add(Buffer.from(text))
  const message: unknown = wellFormed(JSON.parse(text))
  if (!isObject(message)) throw new Error('no message')
  const { type, id } = message
  if (type === 'loaded' && isPath(message.path) && isPath(message.fingerprint)) {
    return { type, path: message.path, fingerprint: message.fingerprint }
  }
  if (type === 'ready') return { type, registration: message.registration }
  if (typeof id === 'number') {
    if (type === 'progress') return { type, id, metadata: message.metadata }
    if (type === 'result') return { type, id, value: message.value }
    if (type === 'error') return { type, id, error: String(message.error) }
  }
  throw new Error('no message')
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_PATH
}

/**
 * Converts the result of a plugin's tool to an outcome; texts are truncated like those of other tools. Throws
 * TypeError.
 */
export function readResult(value: unknown): ToolOutcome {
  if (value === null || typeof value === 'string') return completed([pieceOf(value ?? '')])
  if (!isObject(value) || !Array.isArray(value.content)) {
    throw new TypeError('it is neither a string nor { content: [{ type: "text", text }] }')
  }
  if (value.content.length > MAX_PIECES) throw new TypeError(`it has more than ${MAX_PIECES} pieces`)
  const content = value.content.map(readPiece)
  return completed(content.length > 0 ? content : [pieceOf('')], readMetadata(value.metadata))
}

/** The part of a call's metadata that may be shown; undefined: none. */
export function readMetadata(value: unknown): JsonObject | undefined {
  return isFreeObject(value) && JSON.stringify(value).length <= MAX_METADATA ? value : undefined
}

/** A text as a model is shown it. */
export function cut(text: string): string {
  const window = new OutputWindow()
  window.push(Buffer.from(text))
  return window.text().text
}

/** A piece that a model reads. */
export function pieceOf(text: string): ToolContent {
  return textContent(cut(text) || '(no output)')
}

function readPiece(value: unknown): ToolContent {
  if (!isObject(value)) throw new TypeError('a piece is not an object')
  const { type, text, data, mime, name } = value
  if (type === 'text' && typeof text === 'string') return pieceOf(text)
  if (type !== 'file' || typeof data !== 'string' || typeof mime !== 'string' || typeof name !== 'string') {
    throw new TypeError('a piece is neither { type: "text", text } nor { type: "file", data, mime, name }')
  }
  if (!/^[\w.+-]+\/[\w.+-]+$/.test(mime) || mime.length > 128) throw new TypeError('a piece has no media type')
  const bytes = Buffer.from(data, 'base64')
  if (bytes.toString('base64') !== data) throw new TypeError('the data of a piece are not base64')
  return fileContent(bytes, mime, name.slice(0, 255))
}
