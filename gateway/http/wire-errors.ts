import type { ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Rejection } from '#shared/rejection.ts'
import { publicError } from '../errors/public-error.ts'
import { familyOf } from '../family.ts'

/** An error that node:http found in the bytes of a connection. */
export interface WireError {
  readonly code?: string
  /** The bytes that were read last, if known. */
  readonly rawPacket?: Buffer
  /** Target of the request, where it was understood. */
  readonly target?: string | undefined
}

const REASONS: Readonly<Record<string, Rejection>> = {
  HPE_HEADER_OVERFLOW: new Rejection('HEADERS_TOO_LARGE'),
  ERR_HTTP_REQUEST_TIMEOUT: new Rejection('REQUEST_TIMEOUT'),
  CONNECT: new Rejection('METHOD_NOT_ALLOWED', { allow: 'GET, POST' }),
}
const MALFORMED = new Rejection('REQUEST_MALFORMED')

/** Writes the answer to the raw connection, since there is no request that the app could answer, and closes it. */
export function answerOnWire(error: WireError, socket: Duplex): void {
  // Where node:http keeps the answer that is being sent; its own handler of these errors looks there as well.
  const { _httpMessage: current, bytesRead } = socket as Socket & { readonly _httpMessage?: ServerResponse | null }
  // If nothing was requested, a client that reuses connections would take these bytes for the answer to its next
  // request.
  if (error.code === 'ECONNRESET' || !socket.writable || current?.headersSent === true || bytesRead === 0) {
    socket.destroy()
    return
  }
  const target = error.target ?? current?.req.url ?? targetOf(error.rawPacket)
  const { status, body, headers = [] } = publicError(familyOf(target), REASONS[error.code ?? ''] ?? MALFORMED)
  const text = JSON.stringify(body)
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ]
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy())
}

/** The path that the refused bytes name, as far as they can be read. */
function targetOf(packet: Buffer | undefined): string {
  return /^[A-Za-z-]+ (\S+)/.exec(packet?.toString('latin1', 0, 2_048) ?? '')?.[1] ?? ''
}
