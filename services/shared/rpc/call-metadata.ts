import type { CallContext, Principal, PrincipalKind } from '#shared/rpc/call-context.ts'

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
