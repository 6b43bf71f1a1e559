import assert from 'node:assert/strict'
import { PORTICO_KEYS, type Portico } from '#test/support/portico.ts'

/** The result of a request; a test reads it as it likes. */
export interface Answered {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: what came over the wire has no type; the judge checks its schema.
  readonly json: any
}

/** Sends a request below `/api/v1`, by default with the workspace key. */
export async function send(
  { fetch }: Portico,
  path: string,
  body?: unknown,
  key: string | undefined = PORTICO_KEYS.api,
): Promise<Answered> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await fetch(
    `/api/v1${path}`,
    body === undefined ? { headers } : { method: 'POST', headers, body: text },
  )
  return { status: answer.status, json: await answer.json() }
}

/** Creates a version of a preset, and returns the result, whatever it is. */
export function create(portico: Portico, slug: string, dialect: string, body: unknown): Promise<Answered> {
  return send(portico, `/presets/${slug}/${dialect}`, body, PORTICO_KEYS.management)
}

/** Creates a version of a preset, and expects success. */
export async function created(
  portico: Portico,
  slug: string,
  dialect: string,
  body: unknown,
): Promise<Answered['json']> {
  const { status, json } = await create(portico, slug, dialect, body)
  assert.equal(status, 200, JSON.stringify(json))
  return json.data
}
