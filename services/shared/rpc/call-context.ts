import {
  type CallOptions,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Transport,
} from '@connectrpc/connect'
import { Rejection } from '#shared/rejection.ts'

/**
 * Whoever waits for a call, which ends when they are gone. Unlike an abort signal, it costs nothing until somebody
 * listens. Most calls are over before that, and making a signal, listening to it and aborting it would take longer than
 * the rest of a call within the process.
 */
export interface Caller {
  readonly isGone: boolean
  /** Aborts when the caller is gone; created when it is first read. */
  readonly signal: AbortSignal
  /** Registers a listener that is called once, when the caller is gone. */
  onGone(listener: () => void): void
  offGone(listener: () => void): void
}

/** The context value with the caller of a call that has no signal. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'caller' })

/** A transport that accepts callers; all others are given their signals. */
export interface CallerTransport extends Transport {
  readonly takesCallers: true
}

export class SignalCaller implements Caller {
  readonly signal: AbortSignal

  constructor(signal: AbortSignal) {
    this.signal = signal
  }

  get isGone(): boolean {
    return this.signal.aborted
  }

  onGone(listener: () => void): void {
    this.signal.addEventListener('abort', listener, { once: true })
  }

  offGone(listener: () => void): void {
    this.signal.removeEventListener('abort', listener)
  }
}

/** What a principal may do; named like the values of portico.identity.v1.Principal.Kind. */
export type PrincipalKind = 'workspace' | 'personal' | 'management' | 'local-operator'

/** On whose behalf a call is made. */
export interface Principal {
  readonly organizationId: string
  readonly workspaceId: string
  /** Empty for the local operator. */
  readonly apiKeyId: string
  readonly kind: PrincipalKind
}

/**
 * What travels with each call besides its message: as context values within a process, as metadata between processes.
 */
export interface CallContext {
  readonly principal?: Principal | undefined
  /** The principal's key was read for this very request; work that is done later does not carry this mark. */
  readonly authenticated?: boolean | undefined
  readonly requestId?: string | undefined
}

/** The context value with the context of a call, for callers and handlers. */
export const callContextKey = createContextKey<CallContext>({}, { description: 'call context' })

const drainKey = createContextKey<AbortSignal>(new AbortController().signal, { description: 'server drains' })

/** Context values of a call that arrived at a server, which announces by `draining` that it will stop. */
export function incomingValues(draining: AbortSignal): ContextValues {
  return createContextValues().set(drainKey, draining)
}

/** Context values of a call within this process, with the context of its caller. */
export function localValues(caller: ContextValues | undefined, draining: AbortSignal | undefined): ContextValues {
  if (draining === undefined) return caller ?? createContextValues()
  const values = incomingValues(draining)
  return caller === undefined ? values : values.set(callContextKey, caller.get(callContextKey))
}

/**
 * Fires, with SERVICE_CLOSING, when the server that received this call begins to drain. A call that would not end by
 * itself (a subscription) then rejects with it; a generation continues for as long as the server waits.
 */
export function drainSignalOf(context: Pick<HandlerContext, 'values'>): AbortSignal {
  return context.values.get(drainKey)
}

/** A `timeoutMs` for calls that end by themselves, or with their caller. */
export const NO_DEADLINE = Number.POSITIVE_INFINITY

/**
 * Options of a call on behalf of somebody, which ends when the caller is gone or the signal aborts. Without
 * `timeoutMs`, a unary call has the default deadline and a stream has none; with `NO_DEADLINE`, neither has one. A
 * deadline that has already passed becomes one millisecond, since zero means no deadline to Connect.
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

/**
 * The principal of a call. A call without one is rejected with PRINCIPAL_MISSING, which is in every table of reasons.
 */
export function principalOf(context: Pick<HandlerContext, 'values'>): Principal {
  const { principal } = context.values.get(callContextKey)
  if (principal === undefined) throw new Rejection('PRINCIPAL_MISSING')
  return principal
}

/** Whether the principal was authenticated for the very request that this call belongs to. */
export function isAuthenticated(context: Pick<HandlerContext, 'values'>): boolean {
  return context.values.get(callContextKey).authenticated === true
}
