import type { Response } from 'express'
import { callOf } from './call.ts'

const JSON_HEADERS = [
  'content-type',
  'application/json; charset=utf-8',
  'cache-control',
  'no-store',
  'x-content-type-options',
  'nosniff',
  'content-length',
] as const

/**
 * Sends a JSON answer. The body is a plain object made by a mapper, never a protobuf message. `headers` are names and
 * values in turn.
 */
export function sendJson(response: Response, status: number, body: unknown, headers: readonly string[] = []): void {
  const text = JSON.stringify(body)
  const size = Buffer.byteLength(text)
  response.writeHead(status, [...JSON_HEADERS, String(size), ...callOf(response).headers, ...headers])
  // Pure ASCII is cheaper to write as Latin-1.
  response.end(text, size === text.length ? 'latin1' : 'utf8')
}

/** Sends 204. */
export function sendNothing(response: Response): void {
  response.writeHead(204, callOf(response).headers)
  response.end()
}
