import { create, type DescField, type DescMessage, type MessageShape, ScalarType } from '@bufbuild/protobuf'
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt'
import { isObject, type JsonObject, type JsonValue } from '#shared/json.ts'

/**
 * A message as the JSON that stores keep: the JSON of protobuf, with the numbers of enums. `toJson` of protobuf-es does
 * the same, but takes a Struct apart, which holds JSON already (ADR 15): an input of a tool with 50,000 members would
 * hold the event loop for 160 ms.
 */
export function toStoredJson<D extends DescMessage>(schema: D, message: MessageShape<D>): JsonObject {
  return write(schema, message)
}

/** Reads it again; unknown members are left out. Throws a SyntaxError for JSON of another form. */
export function fromStoredJson<D extends DescMessage>(schema: D, json: unknown): MessageShape<D> {
  return read(schema, json) as MessageShape<D>
}

/** What the JSON of a message may contain: the members of each message in it, with their types. */
export type JsonForm = Readonly<Record<string, readonly string[]>>

export function formOf(schema: DescMessage, form: Record<string, readonly string[]> = {}): JsonForm {
  form[schema.typeName] = schema.fields.map(({ jsonName, fieldKind, scalar, message, enum: words }) => {
    const values = words?.values.map((value) => `${value.number}=${value.name}`)
    return [jsonName, fieldKind, scalar ?? message?.typeName ?? values].join(' ')
  })
  for (const { message } of schema.fields) {
    if (message !== undefined && !isStruct(message) && !Object.hasOwn(form, message.typeName)) formOf(message, form)
  }
  return form
}

type Fields = Record<string, unknown>

function write({ fields }: DescMessage, message: object): JsonObject {
  const members = message as Fields
  const json: JsonObject = {}
  for (const field of fields) {
    const value = field.oneof === undefined ? members[field.localName] : chosen(members, field)
    if (value !== undefined && !isDefault(field, value)) json[field.jsonName] = each(field, value, encode) as JsonValue
  }
  return json
}

function chosen(message: Fields, { oneof, localName }: DescField): unknown {
  const one = message[oneof?.localName ?? ''] as { case: string | undefined; value?: unknown }
  return one.case === localName ? one.value : undefined
}

/** Whether the value is the one of a new message. */
function isDefault({ fieldKind, presence }: DescField, value: unknown): boolean {
  if (fieldKind === 'list') return (value as readonly unknown[]).length === 0
  if (fieldKind === 'map') return Object.keys(value as object).length === 0
  if (presence !== FeatureSet_FieldPresence.IMPLICIT) return false
  return value instanceof Uint8Array ? value.length === 0 : !value
}

type Conversion = (field: DescField, value: unknown) => unknown

/** Converts the value of a field, or each one of a list or map. */
function each(field: DescField, value: unknown, convert: Conversion): unknown {
  if (field.fieldKind === 'list') {
    if (!Array.isArray(value)) throw notA(field)
    return value.map((item) => convert(field, item))
  }
  if (field.fieldKind !== 'map') return convert(field, value)
  if (!isObject(value)) throw notA(field)
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, convert(field, item)]))
}

function encode({ message }: DescField, value: unknown): unknown {
  if (message !== undefined) return isStruct(message) ? value : write(message, value as object)
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64')
  return typeof value === 'bigint' ? String(value) : value
}

function read(schema: DescMessage, json: unknown): object {
  if (!isObject(json)) throw new SyntaxError(`What is stored is no ${schema.typeName}`)
  const message: object = create(schema)
  const members = message as Fields
  for (const field of schema.fields) {
    const stored = json[field.jsonName]
    if (stored === undefined) continue
    const value = each(field, stored, decode)
    if (field.oneof === undefined) members[field.localName] = value
    else members[field.oneof.localName] = { case: field.localName, value }
  }
  return message
}

function decode(field: DescField, stored: unknown): unknown {
  const { message, scalar } = field
  if (message !== undefined && !isStruct(message)) return read(message, stored)
  const fits = message === undefined ? typeof stored === typeOf(scalar) : isObject(stored)
  if (!fits) throw notA(field)
  if (scalar === ScalarType.BYTES) return new Uint8Array(Buffer.from(stored as string, 'base64'))
  return scalar === ScalarType.INT64 ? BigInt(stored as string) : stored
}

/** The type of a scalar's JSON, or of an enum's. */
function typeOf(scalar: ScalarType | undefined): string {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
    case ScalarType.INT64:
      return 'string'
    case ScalarType.BOOL:
      return 'boolean'
    default:
      return 'number'
  }
}

function isStruct({ typeName }: DescMessage): boolean {
  return typeName === 'google.protobuf.Struct'
}

function notA(field: DescField): SyntaxError {
  return new SyntaxError(`What is stored is no value of ${field.parent.typeName}.${field.name}`)
}
