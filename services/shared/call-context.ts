import { type CallOptions, createContextKey, createContextValues, type HandlerContext } from '@connectrpc/connect'
import { Rejection } from '#shared/rejection.ts'

/** What a principal may do; the names of portico.identity.v1.Principal.Kind. */
export type PrincipalKind = 'workspace' | 'personal' | 'management' | 'local-operator'

/** On whose behalf a call is made. */
export interface Principal {
  readonly organizationId: string
  readonly workspaceId: string
  /** Empty for the local operator. */
  readonly apiKeyId: string
  readonly kind: PrincipalKind
}

/** What travels with each call beside its message: as context values in one process, as metadata between processes. */
export interface CallContext {
  readonly principal?: Principal | undefined
  readonly requestId?: string | undefined
}

/** Where a call's context lies, for a caller and for a handler. */
export const callContextKey = createContextKey<CallContext>({}, { description: 'call context' })

/** Options of a call on behalf of somebody. */
export function callOptions(
  context: CallContext,
  options: { signal?: AbortSignal | undefined; timeoutMs?: number | undefined } = {},
): CallOptions {
  return {
    contextValues: createContextValues().set(callContextKey, context),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
  }
}

/** The principal of a call. A call without one is rejected with PRINCIPAL_MISSING, which every reason table has. */
export function principalOf(context: Pick<HandlerContext, 'values'>): Principal {
  const { principal } = context.values.get(callContextKey)
  if (principal === undefined) throw new Rejection('PRINCIPAL_MISSING')
  return principal
}
