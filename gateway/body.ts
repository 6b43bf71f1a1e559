import { isUtf8 } from 'node:buffer'
import type { Request } from 'express'
import type { ZodType } from 'zod'
import { Rejection } from '#shared/rejection.ts'

/** Longest message about an invalid request, in characters (`contract/instance-facts.md` 2). */
const MESSAGE_LIMIT = 1024

/**
 * Reads a JSON body of at most `limit` bytes. Rejects with CONTENT_TYPE_UNSUPPORTED, BODY_TOO_LARGE, BODY_MISSING or
 * BODY_MALFORMED (not UTF-8, not JSON, or strings that are not well-formed Unicode).
 */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  const type = request.headers['content-type']
  const length = request.headers['content-length']
  const empty = length === '0' || (length === undefined && request.headers['transfer-encoding'] === undefined)
  if (empty) throw new Rejection('BODY_MISSING')
  if (type === undefined || !JSON_TYPE.test(type)) throw new Rejection('CONTENT_TYPE_UNSUPPORTED')
  const encoding = request.headers['content-encoding']
  const transfer = request.headers['transfer-encoding']
  if ((encoding ?? 'identity') !== 'identity' || (transfer ?? 'chunked').toLowerCase() !== 'chunked') {
    throw new Rejection('CONTENT_ENCODING_UNSUPPORTED')
  }
  if (Number(length) > limit) throw new Rejection('BODY_TOO_LARGE', { limit: String(limit) })
  const bytes = await readBytes(request, limit)
  if (bytes.length === 0) throw new Rejection('BODY_MISSING')
  return parseJson(bytes)
}

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?(?:;\s*)?$/i

function readBytes(request: Request, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) {
        // What is still to come is read and dropped by node:http once the answer is sent.
        request.removeAllListeners('data')
        reject(new Rejection('BODY_TOO_LARGE', { limit: String(limit) }))
      } else chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    request.on('error', reject)
    request.on('close', () => {
      if (!request.complete) reject(new Rejection('BODY_MALFORMED', { problem: 'the body was cut off' }))
    })
  })
}

function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new Rejection('BODY_MALFORMED', { problem: 'the body is not UTF-8' })
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Rejection('BODY_MALFORMED', { problem: 'the body is not valid JSON' })
  }
  // Lone surrogates and NUL in names can only come from escapes: bodies without one need no walk.
  if (text.includes('\\u')) requireWellFormed(value)
  return value
}

function requireWellFormed(root: unknown): void {
  const open: unknown[] = [root]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value === 'string') {
      if (!value.isWellFormed()) throw new Rejection('BODY_MALFORMED', { problem: 'a string has a lone surrogate' })
    } else if (Array.isArray(value)) {
      for (const item of value) open.push(item)
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        if (!key.isWellFormed() || key.includes('\0')) {
          throw new Rejection('BODY_MALFORMED', { problem: 'a member name has a lone surrogate or NUL' })
        }
        open.push(item)
      }
    }
  }
}

/** Checks a body against its schema. Rejects with BODY_INVALID, which names the first offending path. */
export function checkBody<T>(schema: ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  throw new Rejection('BODY_INVALID', {
    field: (issue?.path ?? []).join('.').slice(0, 256),
    problem: (issue?.message ?? 'Invalid').slice(0, MESSAGE_LIMIT - 300),
  })
}
