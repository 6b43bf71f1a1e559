import type { HandlerContext } from '@connectrpc/connect'
import { isSlug } from '#services/inference/domain/preset/reference.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'

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

/** What is rejected with where there is no such preset. */
export function notFound(slug: string): Rejection {
  return new Rejection('PRESET_NOT_FOUND', { slug: slug.slice(0, 256) })
}
