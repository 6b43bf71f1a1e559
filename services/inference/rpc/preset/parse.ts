import type { HandlerContext } from '@connectrpc/connect'
import { isSlug } from '#services/inference/domain/preset/reference.ts'
import type { Slice } from '#services/inference/ports/preset-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { check, parsePageSize } from '#shared/rpc/parse.ts'

/** The principal of a call that only management keys and the local operator may make. */
export function managerOf(context: Pick<HandlerContext, 'values'>): Principal {
  const principal = principalOf(context)
  if (principal.kind === 'management' || principal.kind === 'local-operator') return principal
  throw new Rejection('MANAGEMENT_KEY_REQUIRED')
}

/** The slug of a new preset. */
export function parseSlug(slug: string): string {
  check(isSlug(slug), 'slug', 'must have letters, digits and -._~ only')
  return slug
}

/** Which part of a list is wanted: 50 items unless the caller says, and at most 100. */
export function parseSlice({ offset, pageSize }: { readonly offset: number; readonly pageSize: number }): Slice {
  check(offset >= 0, 'offset', 'must not be negative')
  return { offset, limit: parsePageSize(pageSize, 50, 100) }
}

/** What is rejected with where there is no such preset. */
export function notFound(slug: string): Rejection {
  return new Rejection('PRESET_NOT_FOUND', { slug: slug.slice(0, 256) })
}
