import { type DescField, type DescMessage, getOption, hasOption, type Message, ScalarType } from '@bufbuild/protobuf'
import { StructSchema } from '@bufbuild/protobuf/wkt'
import { limit } from '#gen/portico/options/v1/limit_pb.js'
import { invalid, isWithin } from '#shared/rpc/parse.ts'

/** The limits that the proto sets for a field: of a number, or of how many units the field has. */
export interface FieldLimit {
  readonly least: number
  readonly most: number
  /** Undefined: the field is a number. A free-form object is measured as JSON. */
  readonly unit: 'characters' | 'bytes' | 'bytes as JSON' | 'items' | undefined
}

/** The parts of a field that may have limits of their own: each key of a map, and each item or value. */
type Part = 'key' | 'item'

/** The limit of a field, or of a part of it. */
export function limitOf(field: DescField, part?: Part): FieldLimit {
  const limit = findLimit(field, part)
  if (limit === undefined) throw new Error(`The proto sets no limit for ${field}`)
  return limit
}

function findLimit(field: DescField, part?: Part): FieldLimit | undefined {
  const whole = hasOption(field, limit) ? getOption(field, limit) : undefined
  const bounds = part === undefined ? whole : whole?.[part]
  if (bounds === undefined) return undefined
  const { least = -Infinity, most = Infinity } = bounds
  return { least, most, unit: unitOf(field, part) }
}

/**
 * Returns a function that rejects with REQUEST_INVALID unless each field of a message is within its limit; absent
 * fields are. `within` is the field that contains the message.
 */
export function checkLimits(schema: DescMessage): (message: Message, within?: string) => void {
  const limits = schema.fields
    .filter((field) => hasOption(field, limit))
    .map((field) => ({
      name: field.name,
      read: readerOf(field),
      bounds: limitOf(field),
      key: findLimit(field, 'key'),
      item: findLimit(field, 'item'),
    }))
  return (message, within) => {
    for (const { name, read, bounds, key, item } of limits) {
      const value = read(message as Values)
      const field = within === undefined ? name : `${within}.${name}`
      const problem = problemOf(value, bounds)
      if (problem !== undefined) throw invalid(field, problem)
      if (key !== undefined || item !== undefined) requireParts(field, value as object, key, item)
    }
  }
}

/**
 * Returns a function that does the same for a message and for every message within it, wherever the protos set a limit.
 */
export function checkAllLimits(schema: DescMessage): (message: Message, within?: string) => void {
  const earlier = deepChecks.get(schema)
  if (earlier !== undefined) return earlier
  const checkOwn = checkLimits(schema)
  // Made when it is first needed, since a message may contain itself.
  let inner: Inner[] | undefined
  const check = (message: Message, within?: string): void => {
    checkOwn(message, within)
    inner ??= schema.fields.flatMap(innerOf)
    for (const { name, read, checkInner } of inner) {
      const value = read(message as Values)
      if (value === undefined) continue
      const field = within === undefined ? name : `${within}.${name}`
      if (!Array.isArray(value)) checkInner(value as Message, field)
      else for (const [i, item] of value.entries()) checkInner(item, `${field}[${i}]`)
    }
  }
  deepChecks.set(schema, check)
  return check
}

const deepChecks = new WeakMap<DescMessage, ReturnType<typeof checkLimits>>()

interface Inner {
  readonly name: string
  readonly read: (message: Values) => unknown
  readonly checkInner: ReturnType<typeof checkLimits>
}

function innerOf(field: DescField): Inner[] {
  const { name, message, fieldKind } = field
  if (message === undefined || fieldKind === 'map' || !hasLimits(message)) return []
  return [{ name, read: readerOf(field), checkInner: checkAllLimits(message) }]
}

/** Whether a message, or a message within it, has a limit. */
function hasLimits(schema: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(schema)) return false
  seen.add(schema)
  return schema.fields.some(
    (field) => hasOption(field, limit) || (field.message !== undefined && hasLimits(field.message, seen)),
  )
}

function requireParts(field: string, value: object, key: FieldLimit | undefined, item: FieldLimit | undefined): void {
  for (const [name, each] of Object.entries(value)) {
    const ofName = key && problemOf(name, key)
    if (ofName !== undefined) throw invalid(field, `keys ${ofName}`)
    const problem = item && problemOf(each, item)
    if (problem !== undefined) throw invalid(Array.isArray(value) ? `${field}[${name}]` : `${field}.${name}`, problem)
  }
}

type Values = Readonly<Record<string, unknown>>
const UNITS = { [ScalarType.STRING]: 'characters', [ScalarType.BYTES]: 'bytes' } as const

function unitOf({ fieldKind, scalar, message }: DescField, part: Part | undefined): FieldLimit['unit'] {
  if (part === 'key') return 'characters'
  if (fieldKind === 'message' && message.typeName === StructSchema.typeName) return 'bytes as JSON'
  if (fieldKind !== 'scalar' && part === undefined) return 'items'
  return scalar === ScalarType.STRING || scalar === ScalarType.BYTES ? UNITS[scalar] : undefined
}

function readerOf({ localName, oneof }: DescField): (message: Values) => unknown {
  if (oneof === undefined) return (message) => message[localName]
  return (message) => {
    const chosen = message[oneof.localName] as { readonly case?: string; readonly value?: unknown }
    return chosen.case === localName ? chosen.value : undefined
  }
}

function problemOf(value: unknown, { least, most, unit }: FieldLimit): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string') {
    if (isWithin(value, least, most)) return undefined
    return value.length < least ? tooLittle(least, unit) : tooMuch(most, unit)
  }
  const size = typeof value === 'object' ? sizeOf(value as object, unit) : Number(value)
  if (size > most) return tooMuch(most, unit)
  return size >= least ? undefined : tooLittle(least, unit)
}

function sizeOf(value: object, unit: FieldLimit['unit']): number {
  if (unit === 'bytes as JSON') return Buffer.byteLength(JSON.stringify(value))
  if (Array.isArray(value)) return value.length
  return value instanceof Uint8Array ? value.byteLength : Object.keys(value).length
}

function tooMuch(most: number, unit: FieldLimit['unit']): string {
  return unit === undefined ? `must be at most ${most}` : `must have at most ${most} ${unit}`
}

function tooLittle(least: number, unit: FieldLimit['unit']): string {
  if (unit === undefined) return `must be at least ${least}`
  return least === 1 ? 'must not be empty' : `must have at least ${least} ${unit}`
}
