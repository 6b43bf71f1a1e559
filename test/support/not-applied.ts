import assert from 'node:assert/strict'
import { DIALECTS, send } from '#test/support/client.ts'
import { PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import type { Json } from '#test/support/responses.ts'

/** Sends a request, and returns its answer with the id of its generation. */
export async function ask(portico: Portico, dialect: string, body: object): Promise<{ json: Json; id: string }> {
  const headers = { 'x-openrouter-metadata': 'enabled' }
  const whole = { ...DIALECTS[dialect], ...body }
  const answer = await send(portico, 'POST', `/api/v1/${dialect}`, whole, { key: PORTICO_KEYS.api, headers })
  const json = (await answer.json()) as Json
  assert.equal(answer.status, 200, JSON.stringify(json))
  return { json, id: answer.headers.get('x-generation-id') ?? '' }
}

/** What an answer says was not applied. */
export const notApplied = ({ openrouter_metadata: { pipeline = [] } }: Json): string[] =>
  pipeline.map(({ name }: Json) => name)
