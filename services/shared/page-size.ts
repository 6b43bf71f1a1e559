import type { DescField } from '@bufbuild/protobuf'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { check, parsePageSize } from '#shared/rpc/parse.ts'

const DEFAULT_SIZE = 50

/** A request for a page of a list. */
interface PageRequest {
  readonly field: { readonly pageSize: DescField }
}

/**
 * Returns a function that decides how many items a page has: 50 by default, and at most the limit of the request's
 * `page_size`.
 */
export function pageSizeParser({ field }: PageRequest): (pageSize: number | undefined) => number {
  const { most } = limitOf(field.pageSize)
  return (pageSize) => parsePageSize(pageSize, DEFAULT_SIZE, most)
}

/** Returns a function that parses which part of a list is requested. */
export function sliceParser(request: PageRequest) {
  const parseSize = pageSizeParser(request)
  return ({ offset, pageSize }: { readonly offset: number; readonly pageSize?: number | undefined }) => {
    check(offset >= 0, 'offset', 'must not be negative')
    return { offset, limit: parseSize(pageSize) }
  }
}
