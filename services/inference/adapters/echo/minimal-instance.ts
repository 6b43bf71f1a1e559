import { isObject } from '#shared/json.ts'

/** A JSON Schema, whose members are unchecked. */
type Schema = Readonly<Record<string, unknown>>

const MAX_DEPTH = 32

/**
 * The smallest value that matches a JSON Schema, deterministically: the first of several possibilities, only required
 * members, as few items and characters as allowed. Supports `const`, `enum`, `default`, `type`, `properties`,
 * `required`, `items`, `prefixItems`, `anyOf`, `oneOf`, `allOf`, local `$ref` and the bounds of numbers, texts and
 * arrays, but not `pattern`.
 */
export function minimalInstance(schema: Schema): unknown {
  return instance(schema, schema, 0)
}

function instance(schema: unknown, root: Schema, depth: number): unknown {
  if (!isObject(schema) || depth > MAX_DEPTH) return null
  if (typeof schema.$ref === 'string') return instance(follow(root, schema.$ref), root, depth + 1)
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if ('default' in schema) return schema.default
  if (Array.isArray(schema.allOf)) return instance(merge(schema, schema.allOf, root), root, depth + 1)
  for (const choices of [schema.anyOf, schema.oneOf]) {
    if (Array.isArray(choices)) return instance(choices[0], root, depth + 1)
  }
  switch (typeOf(schema)) {
    case 'object':
      return objectOf(schema, root, depth)
    case 'array':
      return arrayOf(schema, root, depth)
    case 'string':
      return 'x'.repeat(Math.min(numberOr(schema.minLength, 0), 1_000))
    case 'integer':
    case 'number':
      return numberOf(schema)
    case 'boolean':
      return false
    default:
      return null
  }
}

function objectOf(schema: Schema, root: Schema, depth: number): unknown {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required : []
  const entries = required
    .filter((name) => typeof name === 'string')
    .map((name) => [name, instance(properties[name], root, depth + 1)] as const)
  return Object.fromEntries(entries)
}

function arrayOf(schema: Schema, root: Schema, depth: number): unknown {
  const prefix: unknown[] = Array.isArray(schema.prefixItems) ? schema.prefixItems : []
  const length = Math.min(numberOr(schema.minItems, 0), 100)
  return Array.from({ length }, (_, i) => instance(i < prefix.length ? prefix[i] : schema.items, root, depth + 1))
}

function numberOf(schema: Schema): number {
  const step = numberOr(schema.multipleOf, schema.type === 'number' ? 0 : 1)
  const least = Math.max(numberOr(schema.minimum, -Infinity), numberOr(schema.exclusiveMinimum, -Infinity))
  const most = Math.min(numberOr(schema.maximum, Infinity), numberOr(schema.exclusiveMaximum, Infinity))
  const fits = (value: number): boolean =>
    value >= least && value <= most && value !== schema.exclusiveMinimum && value !== schema.exclusiveMaximum
  if (fits(0)) return 0
  if (step > 0) {
    const value = least > 0 ? Math.ceil(least / step) * step : Math.floor(most / step) * step
    return fits(value) ? value : value + (least > 0 ? step : -step)
  }
  const bound = least > 0 ? least : most
  if (fits(bound)) return bound
  if (Number.isFinite(least) && Number.isFinite(most)) return (least + most) / 2
  return bound + (least > 0 ? 1 : -1)
}

function typeOf(schema: Schema): unknown {
  if (Array.isArray(schema.type)) return schema.type[0]
  if (schema.type !== undefined) return schema.type
  if ('properties' in schema || 'required' in schema) return 'object'
  return 'items' in schema ? 'array' : 'null'
}

function merge(schema: Schema, all: readonly unknown[], root: Schema): Schema {
  const { allOf: _, ...own } = schema
  let merged: Schema = own
  for (const one of all) {
    const next = isObject(one) && typeof one.$ref === 'string' ? follow(root, one.$ref) : one
    if (!isObject(next)) continue
    merged = {
      ...merged,
      ...next,
      properties: { ...(merged.properties as object | undefined), ...(next.properties as object | undefined) },
      required: [...((merged.required as unknown[]) ?? []), ...((next.required as unknown[]) ?? [])],
    }
  }
  return merged
}

function follow(root: Schema, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined
  let target: unknown = root
  for (const step of reference.slice(1).split('/').filter(Boolean)) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    target = isObject(target) || Array.isArray(target) ? (target as Record<string, unknown>)[name] : undefined
  }
  return target
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}
