import { isUtf8 } from 'node:buffer'
import type { Request } from 'express'
import { Rejection } from '#shared/rejection.ts'
import type { BodyShare } from './body-memory.ts'
import { JsonGauge } from './json-gauge.ts'
import { parseJson } from './parse-json.ts'
import { askForBody } from './request-checks.ts'

const TOKEN = "[\\w!#$%&'*+.^`|~-]+"
const QUOTED = '"(?:[^"\\\\]|\\\\.)*"'
const PARAMETER = new RegExp(`\\s*;\\s*(?:(${TOKEN})\\s*=\\s*(${TOKEN}|${QUOTED}))?`, 'y')

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

/**
 * Whether a content type is this one, in UTF-8. Parameters that nobody knows pass (RFC 9110 section 8.3.1); a `charset`
 * must be UTF-8, each time that it is given.
 */
function isTypeInUtf8(type: string, contentType: string): boolean {
  const { length } = type
  if (contentType.slice(0, length).toLowerCase() !== type || !/^\s*(?:;|$)/.test(contentType.slice(length)))
    return false
  for (let at = length; at < contentType.length; at = PARAMETER.lastIndex) {
    PARAMETER.lastIndex = at
    const match = PARAMETER.exec(contentType)
    if (match === null) return contentType.slice(at).trim() === ''
    const [, name = '', value = ''] = match
    if (name.toLowerCase() === 'charset' && !/^"?utf-8"?$/i.test(value)) return false
  }
  return true
}

/**
 * Reads a JSON body of at most `limit` bytes. Rejects with CONTENT_TYPE_UNSUPPORTED, BODY_TOO_LARGE, BODY_MISSING,
 * BODY_MALFORMED (beyond JSON_LIMITS: found while it arrives, before anything is parsed), and as {@link parseJson}
 * does. A client that waits for `100 Continue` gets it here, when nothing else is wrong with the request.
 */
export async function readJson(request: Request, limit: number, share: BodyShare): Promise<unknown> {
  requireBody(request, limit, JSON_TYPE)
  const gauge = new JsonGauge()
  return parseJson(await readBytes(request, limit, share, gauge))
}

/** Reads the text of a form, as {@link readJson} reads JSON. Rejects with BODY_MALFORMED when it is not UTF-8. */
export async function readForm(request: Request, limit: number, share: BodyShare): Promise<string> {
  requireBody(request, limit, FORM_TYPE)
  const bytes = await readBytes(request, limit, share)
  if (!isUtf8(bytes)) throw new Rejection('BODY_MALFORMED', { problem: 'the body is not UTF-8' })
  return bytes.toString('utf8')
}

/** Reads the bytes of a JSON body, which nobody has looked at. Rejects as {@link readJson} does. */
export function readUnparsed(request: Request, limit: number, share: BodyShare): Promise<Buffer> {
  requireBody(request, limit, JSON_TYPE)
  return readBytes(request, limit, share)
}

/** Whether a request says that it has a body. */
export function hasBody({ headers }: Request): boolean {
  const length = headers['content-length']
  return length === undefined ? headers['transfer-encoding'] !== undefined : length !== '0'
}

function requireBody(request: Request, limit: number, expected: string): void {
  const type = request.headers['content-type']
  const length = request.headers['content-length']
  if (!hasBody(request)) throw new Rejection('BODY_MISSING')
  if (type === undefined || !isTypeInUtf8(expected, type)) throw new Rejection('CONTENT_TYPE_UNSUPPORTED', { expected })
  const encoding = request.headers['content-encoding']
  const transfer = request.headers['transfer-encoding']
  if ((encoding ?? 'identity') !== 'identity' || (transfer ?? 'chunked').toLowerCase() !== 'chunked') {
    throw new Rejection('CONTENT_ENCODING_UNSUPPORTED')
  }
  if (Number(length) > limit) throw new Rejection('BODY_TOO_LARGE', { limit: String(limit) })
  askForBody(request)
}

async function readBytes(request: Request, limit: number, share: BodyShare, gauge?: JsonGauge): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      size += chunk.length
      if (size > limit) throw new Rejection('BODY_TOO_LARGE', { limit: String(limit) })
      gauge?.add(chunk)
      share.grow(size)
      chunks.push(chunk)
    }
  } catch (error) {
    if (request.complete || error instanceof Rejection) throw error
    throw new Rejection('BODY_MALFORMED', { problem: 'the body was cut off' })
  } finally {
    // The rest of the body is read and dropped: some clients only read the answer once they have sent everything.
    request.resume()
  }
  if (size === 0) throw new Rejection('BODY_MISSING')
  return Buffer.concat(chunks)
}
