import { Code, type ServiceImpl } from '@connectrpc/connect'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { ReasonTable } from '#shared/reasons.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'

const reasons: ReasonTable = {
  PRINCIPAL_MISSING: { code: Code.Unauthenticated, message: 'Who is calling is not known' },
  SESSION_NOT_FOUND: { code: Code.NotFound, message: 'Session {sessionId} not found' },
}

/** Routes of a service whose handlers a test provides; the others are not served. */
export function probe(handlers: Partial<ServiceImpl<typeof SessionService>>): Routes {
  const services = [route(SessionService, handlers as ServiceImpl<typeof SessionService>)]
  return { domain: 'session', reasons, services }
}

/** One message of a stream of numbered events. */
export function event(position: number) {
  return { message: { case: 'event' as const, value: { position: String(position) } } }
}

/** The number of an event. */
export function numberOf(response: { message: { case?: string | undefined; value?: unknown } }): number {
  return Number((response.message.value as { position: string }).position)
}

/** A promise and its resolve function. */
export const gate = () => Promise.withResolvers<void>()
