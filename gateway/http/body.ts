import { isUtf8 } from 'node:buffer'
import type { Request } from 'express'
import { ownTurn } from '#shared/own-turn.ts'
import { Rejection } from '#shared/rejection.ts'
import { askForBody } from './expectation.ts'
import { JsonGauge } from './json/json-gauge.ts'
import { notJson, type Path, parseInTurns } from './json/json-parser.ts'
import { findIllFormed, illFormed, isWellFormed } from './json/well-formed.ts'
import { type BodyShare, LARGE } from './large-bodies/large-bodies.ts'
import { FORM_TYPE, isTypeInUtf8, JSON_TYPE } from './media-type.ts'

/** A text with more members is parsed in turns. */
const MANY = 10_000

/**
 * Reads a JSON body of at most `limit` bytes. Rejects with CONTENT_TYPE_UNSUPPORTED, BODY_TOO_LARGE, BODY_MISSING,
 * BODY_MALFORMED (beyond JSON_LIMITS: found while it arrives, before anything is parsed; not UTF-8, or not JSON) or
 * BODY_INVALID (strings that are not well-formed Unicode). A client that waits for `100 Continue` gets it here, when
 * nothing else is wrong with the request.
 */
export async function readJson(request: Request, limit: number, share: BodyShare): Promise<unknown> {
  requireBody(request, limit, JSON_TYPE)
  const gauge = new JsonGauge()
  const bytes = await readBytes(request, limit, share, gauge)
  if (bytes.length === 0) throw new Rejection('BODY_MISSING')
  return parseJson(request, bytes, gauge.members)
}

/** Reads the text of a form, as {@link readJson} reads JSON. Rejects with BODY_MALFORMED when it is not UTF-8. */
export async function readForm(request: Request, limit: number, share: BodyShare): Promise<string> {
  requireBody(request, limit, FORM_TYPE)
  const bytes = await readBytes(request, limit, share)
  if (bytes.length === 0) throw new Rejection('BODY_MISSING')
  if (!isUtf8(bytes)) throw new Rejection('BODY_MALFORMED', { problem: 'the body is not UTF-8' })
  return bytes.toString('utf8')
}

/** Reads the bytes of a body of some type; parameters of the type are ignored. Rejects as {@link readJson} does. */
export async function readRaw(request: Request, limit: number, type: string, share: BodyShare): Promise<Buffer> {
  requireBody(request, limit, type, (expected, given) => given.split(';', 1)[0]?.trim().toLowerCase() === expected)
  const bytes = await readBytes(request, limit, share)
  if (bytes.length === 0) throw new Rejection('BODY_MISSING')
  return bytes
}

/** The bytes of a JSON body as they arrive. Rejects as {@link readJson} does. */
export async function* readPieces(request: Request, limit: number): AsyncGenerator<Buffer> {
  requireBody(request, limit, JSON_TYPE)
  let size = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      size += chunk.length
      if (size > limit) throw new Rejection('BODY_TOO_LARGE', { limit: String(limit) })
      yield chunk
    }
  } catch (error) {
    if (request.complete || error instanceof Rejection) throw error
    throw new Rejection('BODY_MALFORMED', { problem: 'the body was cut off' })
  } finally {
    // The rest of the body is read and dropped: some clients only read the answer once they have sent everything.
    request.resume()
  }
  if (size === 0) throw new Rejection('BODY_MISSING')
}

/** Whether a request says that it has a body. */
export function hasBody({ headers }: Request): boolean {
  const length = headers['content-length']
  return length === undefined ? headers['transfer-encoding'] !== undefined : length !== '0'
}

function requireBody(request: Request, limit: number, expected: string, fits = isTypeInUtf8): void {
  const type = request.headers['content-type']
  const length = request.headers['content-length']
  if (!hasBody(request)) throw new Rejection('BODY_MISSING')
  if (type === undefined || !fits(expected, type)) throw new Rejection('CONTENT_TYPE_UNSUPPORTED', { expected })
  const encoding = request.headers['content-encoding']
  const transfer = request.headers['transfer-encoding']
  if ((encoding ?? 'identity') !== 'identity' || (transfer ?? 'chunked').toLowerCase() !== 'chunked') {
    throw new Rejection('CONTENT_ENCODING_UNSUPPORTED')
  }
  if (Number(length) > limit) throw new Rejection('BODY_TOO_LARGE', { limit: String(limit) })
  askForBody(request)
}

/** A large body waits for its share of the memory by back pressure: reading from the client is paused. */
async function readBytes(request: Request, limit: number, share: BodyShare, gauge?: JsonGauge): Promise<Buffer> {
  const chunks = await readChunks(request, limit, share, gauge)
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

function readChunks(request: Request, limit: number, share: BodyShare, gauge?: JsonGauge): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    // The pieces are moved out: listeners of the request live until the answer is complete.
    const end = (): void => void share.handle(size).then(() => resolve(chunks.splice(0)), reject)
    // The rest is read and dropped, by node:http too once the answer is sent.
    const refuse = (error: unknown): void => {
      request.removeAllListeners('data')
      request.off('end', end)
      request.resume()
      reject(error)
    }
    const refuseSlow = (error: Rejection): void => {
      // Nobody waits for the rest.
      if (request.res) request.res.shouldKeepAlive = false
      refuse(error)
    }
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) return refuse(new Rejection('BODY_TOO_LARGE', { limit: String(limit) }))
      try {
        gauge?.add(chunk)
      } catch (error) {
        return refuse(error)
      }
      chunks.push(chunk)
      const turn = share.arrive(size, refuseSlow)
      if (turn === undefined) return
      request.pause()
      turn.then(() => request.resume(), refuse)
    })
    request.on('end', end)
    request.on('error', reject)
    request.on('close', () => {
      if (!request.complete) reject(new Rejection('BODY_MALFORMED', { problem: 'the body was cut off' }))
    })
  })
}

/**
 * Parses JSON that has so many members; `at` is where it stands in the body. Rejects with BODY_MALFORMED, or with
 * BODY_INVALID where a string is not well-formed Unicode.
 */
export async function parseJson(
  request: Request,
  bytes: Buffer,
  members: number,
  at: readonly PropertyKey[] = [],
): Promise<unknown> {
  if (!isUtf8(bytes)) throw new Rejection('BODY_MALFORMED', { problem: 'the body is not UTF-8' })
  const text = bytes.toString('utf8')
  const turn = async (): Promise<void> => {
    if (bytes.length > LARGE) await ownTurn()
    requireCaller(request)
  }
  await turn()
  try {
    if (members > MANY) {
      const requireText = (each: string, isName: boolean, path: () => Path): void => {
        if (!isWellFormed(each, isName)) throw illFormed([...at, ...path()], isName)
      }
      return await parseInTurns(text, requireText, () => requireCaller(request))
    }
    const value: unknown = JSON.parse(text)
    // Lone surrogates, and NUL in names, can only come from escapes, so bodies without any need no walk. If there are
    // many backslashes, searching for one takes longer than the walk.
    if (text.length > LARGE || text.includes('\\u')) {
      const found = findIllFormed(value)
      if (found !== undefined) throw illFormed([...at, ...found.path.toReversed()], found.isName)
    }
    return value
  } catch (error) {
    if (error instanceof Rejection) throw error
    throw notJson()
  } finally {
    await turn()
  }
}

/** Throws if the client is gone, so that no more work is done for it. */
function requireCaller({ socket }: Request): void {
  if (socket.destroyed) throw new Rejection('BODY_MALFORMED', { problem: 'the caller is gone' })
}
