import { type JsonObject, parseObject } from '#shared/json.ts'
import { objectProblem } from '../shape.ts'

const PREFIX = 'portico:item:'

/** Encodes an item in a provider's own format as one text, since a chat message has no member for it. */
export function sealItem(item: JsonObject): string {
  return PREFIX + Buffer.from(JSON.stringify(item)).toString('base64url')
}

/** The item of a sealed text; undefined: Portico did not make it. */
export function openItem(text: string): JsonObject | undefined {
  if (!text.startsWith(PREFIX)) return undefined
  const item = parseObject(Buffer.from(text.slice(PREFIX.length), 'base64url').toString())
  return objectProblem(item) === undefined ? item : undefined
}
