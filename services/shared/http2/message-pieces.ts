import { type DescField, type DescMessage, type MessageShape, ScalarType, toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

/** Fewer bytes are copied sooner than sent by themselves. */
const LARGE = 65_536

/** A message in binary, in pieces: bytes of its own that are many are one of them and not copied. Fields may come in any order. */
export function messagePieces<M extends DescMessage>(schema: M, message: MessageShape<M>): readonly Uint8Array[] {
  const members = message as unknown as Readonly<Record<string, unknown>>
  const large = schema.fields.filter((field) => isBytes(field) && sizeOf(members[field.localName]) > LARGE)
  if (large.length === 0) return [toBinary(schema, message)]
  const rest = Object.assign(Object.create(Object.getPrototypeOf(message) as object), message)
  for (const { localName } of large) rest[localName] = new Uint8Array()
  const pieces: Uint8Array[] = [toBinary(schema, rest)]
  for (const { number, localName } of large) {
    const bytes = members[localName] as Uint8Array
    pieces.push(new BinaryWriter().tag(number, WireType.LengthDelimited).uint32(bytes.byteLength).finish(), bytes)
  }
  return pieces
}

function isBytes(field: DescField): boolean {
  return field.fieldKind === 'scalar' && field.scalar === ScalarType.BYTES && field.oneof === undefined
}

function sizeOf(value: unknown): number {
  return value instanceof Uint8Array ? value.byteLength : 0
}
