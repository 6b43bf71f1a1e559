import { createHash, timingSafeEqual } from 'node:crypto'
import type { HandlerContext } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { toConnectError } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { type CallContext, callContextKey, type Principal, type PrincipalKind } from '#shared/rpc/call-context.ts'
import { gateReasons } from '#shared/rpc/server-reasons.ts'
import { Complaint } from '#shared/telemetry/complaint.ts'

/** The header with the secret, by which a call proves that it comes from one of our own processes. */
export const SECRET_HEADER = 'portico-secret'

const PRINCIPAL_HEADER = 'portico-principal'
const AUTHENTICATED_HEADER = 'portico-authenticated'
const REQUEST_ID_HEADER = 'portico-request-id'
const KINDS: ReadonlySet<string> = new Set<PrincipalKind>(['workspace', 'personal', 'management', 'local-operator'])

/** Writes the context of a call as headers, for calls between our own processes. */
export function headersOfContext({ principal, authenticated, requestId }: CallContext): Record<string, string> {
  const headers: Record<string, string> = {}
  if (requestId !== undefined) headers[REQUEST_ID_HEADER] = encodeURIComponent(requestId)
  if (authenticated === true) headers[AUTHENTICATED_HEADER] = 'true'
  if (principal !== undefined) {
    const { kind, organizationId, workspaceId, apiKeyId } = principal
    headers[PRINCIPAL_HEADER] = [kind, organizationId, workspaceId, apiKeyId].map(encodeURIComponent).join(';')
  }
  return headers
}

/** Reads the context from headers, after the secret was checked. An invalid principal is ignored. */
export function contextOfHeaders(headers: Pick<Headers, 'get'>): CallContext {
  const requestId = headers.get(REQUEST_ID_HEADER)
  return {
    principal: principalOfHeader(headers.get(PRINCIPAL_HEADER)),
    authenticated: headers.get(AUTHENTICATED_HEADER) === 'true',
    requestId: requestId === null ? undefined : decode(requestId),
  }
}

function principalOfHeader(header: string | null): Principal | undefined {
  const [kind, organizationId, workspaceId, apiKeyId] = header?.split(';').map(decode) ?? []
  if (kind === undefined || !KINDS.has(kind)) return undefined
  if (organizationId === undefined || workspaceId === undefined || apiKeyId === undefined) return undefined
  return { kind: kind as PrincipalKind, organizationId, workspaceId, apiKeyId }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * A gate before every call, which runs before the body is read. A call without the secret is rejected with
 * SECRET_REFUSED; with it, the principal and the request id in its metadata are trusted. The comparison takes the same
 * time for every wrong secret.
 */
export function secretGate(secret: string, logger: Logger): (context: HandlerContext) => void {
  const refused = new Complaint(logger, 'Calls with another internal secret are refused; see PORTICO_INTERNAL_SECRET')
  const expected = sha256(secret)
  return (context) => {
    if (!timingSafeEqual(sha256(context.requestHeader.get(SECRET_HEADER) ?? ''), expected)) {
      refused.happened()
      throw toConnectError(new Rejection('SECRET_REFUSED'), 'server', gateReasons)
    }
    context.values.set(callContextKey, contextOfHeaders(context.requestHeader))
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
