import type { HandlerContext } from '@connectrpc/connect'
import { isSlug } from '#services/inference/domain/preset/reference.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'

/** The principal of a call that requires a management key or the local operator. */
export function managerOf(context: Pick<HandlerContext, 'values'>): Principal {
  const principal = principalOf(context)
  if (principal.kind === 'management' || principal.kind === 'local-operator') return principal
  throw new Rejection('MANAGEMENT_KEY_REQUIRED')
}

/** The slug of a new preset. */
export function parseSlug(slug: string): string {
  check(isSlug(slug), 'slug', 'must contain only letters, digits and -._~')
  return slug
}

/** The rejection for a preset that does not exist. */
export function notFound(slug: string): Rejection {
  return new Rejection('PRESET_NOT_FOUND', { slug: slug.slice(0, 256) })
}
