import { clearField, clone, type DescMessage, isFieldSet, type MessageShape } from '@bufbuild/protobuf'
import { invalid } from '#shared/rpc/parse.ts'

/**
 * A copy of a message in which the named fields are those of another one: set as there, or absent as there; where a member of a oneof is
 * absent there, another member stays. Rejects with REQUEST_INVALID when a name is not one of `allowed`, or there is none.
 */
export function withFields<D extends DescMessage>(
  schema: D,
  current: MessageShape<D>,
  changes: MessageShape<D>,
  paths: readonly string[],
  allowed: readonly string[],
): MessageShape<D> {
  if (paths.length === 0) throw invalid('update_mask', 'must name what to change')
  const result = clone(schema, current)
  for (const path of paths) {
    const field = schema.fields.find(({ name }) => name === path)
    if (field === undefined || !allowed.includes(path))
      throw invalid('update_mask', `must name only ${allowed.join(', ')}`)
    const member = field.oneof?.localName ?? field.localName
    if (isFieldSet(changes, field)) Reflect.set(result, member, Reflect.get(changes, member))
    else clearField(result, field)
  }
  return result
}
