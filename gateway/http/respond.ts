import type { Response } from 'express'
import { callOf } from '../call.ts'
import { withRetryAfter } from '../errors/public-error.ts'

/** Headers of every JSON answer, names and values in turn. */
export const JSON_HEADERS = [
  'content-type',
  'application/json; charset=utf-8',
  'cache-control',
  'no-store',
  'x-content-type-options',
  'nosniff',
] as const

/**
 * Sends a JSON answer. The body is a plain object made by a mapper, never a protobuf message. `headers` are names and
 * values in turn; every 503 says when to come back.
 */
export function sendJson(response: Response, status: number, body: unknown, headers: readonly string[] = []): void {
  const text = JSON.stringify(body)
  const size = Buffer.byteLength(text)
  const own = status === 503 ? withRetryAfter(headers) : headers
  response.writeHead(status, [...JSON_HEADERS, 'content-length', String(size), ...callOf(response).headers, ...own])
  // Pure ASCII is cheaper to write as Latin-1.
  response.end(text, size === text.length ? 'latin1' : 'utf8')
}

/** Sends 204. */
export function sendNothing(response: Response): void {
  response.writeHead(204, callOf(response).headers)
  response.end()
}
