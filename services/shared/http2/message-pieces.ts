import { type DescField, type DescMessage, type MessageShape, ScalarType, toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

/** Copying fewer bytes is faster than sending them separately. */
const LARGE = 65_536

/**
 * Encodes a message as pieces: its long byte fields are pieces of their own, which are not copied. Fields may come in
 * any order.
 */
export function messagePieces<M extends DescMessage>(schema: M, message: MessageShape<M>): readonly Uint8Array[] {
  const member = (field: DescField): unknown => Reflect.get(message, field.localName)
  const large = schema.fields.filter((field) => isBytes(field) && sizeOf(member(field)) > LARGE)
  if (large.length === 0) return [toBinary(schema, message)]
  const rest = Object.assign(Object.create(Object.getPrototypeOf(message) as object), message)
  for (const { localName } of large) rest[localName] = new Uint8Array()
  const pieces: Uint8Array[] = [toBinary(schema, rest)]
  for (const field of large) {
    const bytes = member(field) as Uint8Array
    pieces.push(new BinaryWriter().tag(field.number, WireType.LengthDelimited).uint32(bytes.byteLength).finish(), bytes)
  }
  return pieces
}

function isBytes(field: DescField): boolean {
  return field.fieldKind === 'scalar' && field.scalar === ScalarType.BYTES && field.oneof === undefined
}

function sizeOf(value: unknown): number {
  return value instanceof Uint8Array ? value.byteLength : 0
}
