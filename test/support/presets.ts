import assert from 'node:assert/strict'
import { type Answer, call } from '#test/support/client.ts'
import { PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import type { Json } from '#test/support/responses.ts'

/** Sends a request below `/api/v1`, by default with the workspace key. */
export function send(portico: Portico, path: string, body?: unknown, key = PORTICO_KEYS.api): Promise<Answer> {
  return call(portico, body === undefined ? 'GET' : 'POST', `/api/v1${path}`, body, { key })
}

/** Creates a version of a preset, and returns the result, whatever it is. */
export function create(portico: Portico, slug: string, dialect: string, body: unknown): Promise<Answer> {
  return send(portico, `/presets/${slug}/${dialect}`, body, PORTICO_KEYS.management)
}

/** Creates a version of a preset, and expects success. */
export async function created(portico: Portico, slug: string, dialect: string, body: unknown): Promise<Json> {
  const { status, json } = await create(portico, slug, dialect, body)
  assert.equal(status, 200, JSON.stringify(json))
  return json.data
}
