import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { check } from '#shared/rpc/parse.ts'

/**
 * The paths in the mask of an update; none without a mask. Rejects with REQUEST_INVALID if it contains a path that is
 * not in `allowed`.
 */
export function parseMask<Path extends string>(mask: FieldMask | undefined, allowed: readonly Path[]): readonly Path[] {
  const isAllowed = (path: string): path is Path => (allowed as readonly string[]).includes(path)
  const paths = mask?.paths ?? []
  check(paths.every(isAllowed), 'update_mask', `must name only ${allowed.join(', ')}`)
  return paths
}
