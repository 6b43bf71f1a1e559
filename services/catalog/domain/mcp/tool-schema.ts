import { isJson, isObject, type JsonObject, type JsonValue } from '#shared/json.ts'
import { decodePercent, lookUp, refersToItself } from '../plugins/schema-loops.ts'

const MAX_DEPTH = 20
const MAX_NODES = 5_000
/** As JSON. */
const MAX_CHARACTERS = 64 << 10
const MAX_DESCRIPTION = 2_000
const MAX_PATTERN = 500

type Keyword = (value: JsonValue, read: (schema: JsonValue) => JsonValue | undefined) => JsonValue | undefined

const text: Keyword = (value) =>
  typeof value === 'string' ? value.slice(0, MAX_DESCRIPTION).toWellFormed() : undefined
const number: Keyword = (value) => (typeof value === 'number' ? value : undefined)
const flag: Keyword = (value) => (typeof value === 'boolean' ? value : undefined)
const anything: Keyword = (value) => value
const list: Keyword = (value) => (Array.isArray(value) && value.length > 0 ? value : undefined)
const one: Keyword = (value, read) => read(value)
const names: Keyword = (value) =>
  Array.isArray(value) ? [...new Set(value.filter((name) => typeof name === 'string'))] : undefined
const several: Keyword = (value, read) => {
  const parts = Array.isArray(value) ? value.flatMap((part) => read(part) ?? []) : []
  return parts.length > 0 ? parts : undefined
}
const map: Keyword = (value, read) =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).flatMap(([name, part]) => entryOf(name, read(part))))
    : undefined

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])

const KEYWORDS: Readonly<Record<string, Keyword>> = {
  type: (value) => {
    const types = [value].flat().filter((type) => typeof type === 'string' && TYPES.has(type))
    return types.length === 0 ? undefined : Array.isArray(value) ? types : types[0]
  },
  // It is never used here, but it must not fail where it is.
  pattern: (value) =>
    typeof value === 'string' && value.length <= MAX_PATTERN && isPattern(value) ? value : undefined,
  $ref: (value) => (typeof value === 'string' && /^#(\/|$)/.test(value) ? value : undefined),
  title: text,
  description: text,
  format: text,
  enum: list,
  const: anything,
  default: anything,
  required: names,
  minLength: number,
  maxLength: number,
  minItems: number,
  maxItems: number,
  uniqueItems: flag,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: number,
  minProperties: number,
  maxProperties: number,
  additionalProperties: one,
  propertyNames: one,
  items: one,
  prefixItems: several,
  anyOf: several,
  oneOf: several,
  allOf: several,
  not: one,
  properties: map,
  $defs: map,
  definitions: map,
}

/** Why a schema cannot be offered. */
export class SchemaProblem extends Error {
  override readonly name = 'SchemaProblem'
}

/**
 * Extracts from a server's schema for the input of a tool the part that is sent to providers: keywords that they know,
 * with valid values, since one bad schema makes a provider refuse the whole request. References are kept if they lead
 * somewhere within the schema. Nothing of it is ever compiled or used here. Throws SchemaProblem if it is too deep, too
 * large, refers to itself, or is not about an object.
 */
export function readToolSchema(json: unknown): JsonObject {
  if (!isJson(json) || !isObject(json)) throw new SchemaProblem('its schema is not an object')
  if (json.type !== undefined && json.type !== 'object') throw new SchemaProblem('its schema is not about an object')
  let nodes = 0
  const references: JsonObject[] = []
  const read = (schema: JsonValue, depth: number): JsonValue | undefined => {
    if (++nodes > MAX_NODES || depth > MAX_DEPTH) throw new SchemaProblem('its schema is too large or too deep')
    if (typeof schema === 'boolean') return schema
    if (!isObject(schema)) return undefined
    const kept: JsonObject = {}
    for (const [name, value] of Object.entries(schema)) {
      const keyword = Object.hasOwn(KEYWORDS, name) ? KEYWORDS[name] : undefined
      const [entry] = entryOf(
        name,
        keyword?.(value, (part) => read(part, depth + 1)),
      )
      if (entry !== undefined) kept[name] = entry[1]
    }
    if (kept.$ref !== undefined) references.push(kept)
    return kept
  }
  const root = read(json, 0)
  const schema: JsonObject = { properties: {}, ...(isObject(root) && root), type: 'object' }
  // Keywords that only restrict the whole are left to the server, since some providers refuse them there.
  for (const name of ['anyOf', 'oneOf', 'allOf', 'not', '$ref', 'enum', 'const']) delete schema[name]
  for (const reference of references) if (!leadsSomewhere(schema, String(reference.$ref))) delete reference.$ref
  if (JSON.stringify(schema).length > MAX_CHARACTERS) throw new SchemaProblem('its schema is too large')
  if (refersToItself(schema)) throw new SchemaProblem('its schema has a reference to itself')
  return schema
}

function entryOf(name: string, value: JsonValue | undefined): [string, JsonValue][] {
  return value === undefined ? [] : [[name, value]]
}

/** Whether a JSON pointer in the form of a URI fragment names a part of a schema. */
function leadsSomewhere(schema: JsonObject, reference: string): boolean {
  return isObject(lookUp(schema, reference.split('/').slice(1).map(decodePercent)))
}

function isPattern(value: string): boolean {
  try {
    return new RegExp(value, 'u') instanceof RegExp
  } catch {
    return false
  }
}
