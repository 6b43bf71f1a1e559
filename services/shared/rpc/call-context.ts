import {
  type CallOptions,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect'
import { Rejection } from '#shared/rejection.ts'
import { type Caller, callerKey } from '#shared/rpc/caller.ts'

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
  /** The principal's key was read for this very request; what was admitted and is done later does not carry it. */
  readonly authenticated?: boolean | undefined
  readonly requestId?: string | undefined
}

/** Where a call's context lies, for a caller and for a handler. */
export const callContextKey = createContextKey<CallContext>({}, { description: 'call context' })

const drainKey = createContextKey<AbortSignal>(new AbortController().signal, { description: 'server drains' })

/** Context values of a call that came in over a server which announces by `draining` that it is going to stop. */
export function incomingValues(draining: AbortSignal): ContextValues {
  return createContextValues().set(drainKey, draining)
}

/** Likewise of a call within this process, with the context of its caller. */
export function localValues(caller: ContextValues | undefined, draining: AbortSignal | undefined): ContextValues {
  if (draining === undefined) return caller ?? createContextValues()
  const values = incomingValues(draining)
  return caller === undefined ? values : values.set(callContextKey, caller.get(callContextKey))
}

/**
 * Fires, with SERVICE_CLOSING, when the server that took this call begins to drain. A call without an end of its own (a
 * subscription) rejects with that then; a generation goes on for as long as the server waits.
 */
export function drainSignalOf(context: Pick<HandlerContext, 'values'>): AbortSignal {
  return context.values.get(drainKey)
}

/** A `timeoutMs` for calls that end by themselves, or when their caller is gone. */
export const NO_DEADLINE = Number.POSITIVE_INFINITY

/**
 * Options of a call on behalf of somebody, which ends when the caller is gone or the signal aborts. Without `timeoutMs` a unary call has the default deadline and a stream has none.
 * `NO_DEADLINE` is none for either. A time that is already over counts as one millisecond: to Connect zero means no deadline.
 */
export function callOptions(
  context: CallContext,
  {
    caller,
    signal,
    timeoutMs,
  }: { caller?: Caller | undefined; signal?: AbortSignal | undefined; timeoutMs?: number | undefined } = {},
): CallOptions {
  const options: CallOptions = { contextValues: createContextValues().set(callContextKey, context) }
  if (caller !== undefined) options.contextValues?.set(callerKey, caller)
  if (signal !== undefined) options.signal = signal
  if (timeoutMs !== undefined) options.timeoutMs = toConnectTimeout(timeoutMs)
  return options
}

function toConnectTimeout(ms: number): number {
  return ms === NO_DEADLINE ? 0 : Math.max(1, ms)
}

/** The principal of a call. A call without one is rejected with PRINCIPAL_MISSING, which every reason table has. */
export function principalOf(context: Pick<HandlerContext, 'values'>): Principal {
  const { principal } = context.values.get(callContextKey)
  if (principal === undefined) throw new Rejection('PRINCIPAL_MISSING')
  return principal
}

/** Whether the principal of a call was authenticated for the very request that the call belongs to. */
export function isAuthenticated(context: Pick<HandlerContext, 'values'>): boolean {
  return context.values.get(callContextKey).authenticated === true
}
