import { clearField, clone, type DescMessage, isFieldSet, type MessageShape } from '@bufbuild/protobuf'
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { check, parseMask } from '#shared/rpc/parse.ts'

/** The paths in the mask of an update: some of `allowed`. Rejects with REQUEST_INVALID, also if it is empty. */
export function requireMask(mask: FieldMask | undefined, allowed: readonly string[]): readonly string[] {
  const paths = parseMask(mask, allowed)
  check(paths.length > 0, 'update_mask', 'must name the fields to change')
  return paths
}

/**
 * A copy of a message in which the named fields are taken from another one, where they may be set or absent. If a
 * member of a oneof is absent there, another member is kept.
 */
export function withFields<D extends DescMessage>(
  schema: D,
  current: MessageShape<D>,
  changes: MessageShape<D>,
  names: readonly string[],
): MessageShape<D> {
  const result = clone(schema, current)
  for (const field of schema.fields) {
    if (!names.includes(field.name)) continue
    const member = field.oneof?.localName ?? field.localName
    if (isFieldSet(changes, field)) Reflect.set(result, member, Reflect.get(changes, member))
    else clearField(result, field)
  }
  return result
}
