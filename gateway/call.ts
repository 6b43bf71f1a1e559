import type { ServerResponse } from 'node:http'
import type { CallOptions } from '@connectrpc/connect'
import type { Response } from 'express'
import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { type Caller, callOptions, NO_DEADLINE, type Principal } from '#shared/rpc/call-context.ts'
import type { Credential, Credentials } from './credentials.ts'
import type { Family } from './family.ts'

/** How long a unary call to a service may take, in milliseconds. */
export const DEADLINE_MS = 30_000

/** What one HTTP request carries from the first middleware to the last byte. */
export class Call implements Caller {
  readonly family: Family
  readonly requestId: string
  /** Whose requests count together with this one. */
  readonly clientNetwork: () => string
  /** Whether the path begins with `/v1`, where OpenAI's clients look for everything below `/api/v1`. */
  readonly atV1: boolean
  /**
   * `gen-…`: the generation of the request, by which it goes in the ledger. Set by the runner; undefined: it has none.
   */
  generationId: string | undefined
  /** Describes how far a failed request got, if the client wants that; set by the operation. */
  describeFailure: ((error: unknown) => object | undefined) | undefined
  /** Set by authentication. */
  principal: Principal | undefined
  /** The terms of the principal's key, which were read with it; undefined: the local operator, who has no key. */
  terms: KeyTerms | undefined
  /** The kind of credential that the caller sent. */
  credential: Credential | undefined
  /** Authenticates the caller again; set by authentication. Undefined: nobody can withdraw its credential. */
  reauthenticate: (() => Promise<unknown>) | undefined
  /** Headers for the answer, errors included; names and values alternate. */
  readonly headers: string[]
  /** For how many seconds the answer may be kept; undefined: not at all. */
  maxAge: number | undefined
  /** Reference id of the internal error that was answered, for the access log. */
  ref: string | undefined
  /** What made the answer a 5xx, for the trace. */
  error: unknown
  /** How long a call to a service may take, in milliseconds; the runner sets what the operation says. */
  deadlineMs: number | undefined = DEADLINE_MS
  /** Maps a field as a service names it to the client's name; set from the operation. */
  publicField: ((field: string) => string) | undefined
  /** Whether the answer is a stream, which a stopping server does not end by `stop`; set by who sends it. */
  endsByItself = false
  readonly #listeners = new Set<() => void>()
  #controller: AbortController | undefined
  #over = false
  #stopped = false

  constructor(family: Family, requestId: string, clientNetwork: () => string, atV1 = false) {
    this.family = family
    this.requestId = requestId
    this.clientNetwork = clientNetwork
    this.atV1 = atV1
    this.headers = ['x-request-id', requestId]
  }

  /** Aborted when the client hangs up, when the server stops, and when the request is over. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.isGone) this.#controller.abort()
    }
    return this.#controller.signal
  }

  /** Whether the client has hung up, or the request is over. */
  get over(): boolean {
    return this.#over
  }

  /** Whether the server has ended what the request had running, and it is about to be answered with that. */
  get stopped(): boolean {
    return this.#stopped
  }

  /** To the calls of services, it is their caller. */
  get isGone(): boolean {
    return this.#over || this.#stopped
  }

  onGone(listener: () => void): void {
    this.#listeners.add(listener)
  }

  offGone(listener: () => void): void {
    this.#listeners.delete(listener)
  }

  /** Ends whatever the request still has running. */
  end(): void {
    this.#over = true
    this.#leave()
  }

  /** The same for a server that stops: the client is still there, and gets an answer. */
  stop(): void {
    if (this.#over || this.endsByItself) return
    this.#stopped = true
    this.#leave()
  }

  #leave(): void {
    this.#controller?.abort()
    for (const listener of this.#listeners) listener()
  }

  /** Options of an RPC on behalf of this request, with the deadline of its operation; undefined: none. */
  options(limits: { timeoutMs: number | undefined } = { timeoutMs: this.deadlineMs }): CallOptions {
    return callOptions(
      { principal: this.principal, authenticated: this.principal !== undefined, requestId: this.requestId },
      { caller: this, timeoutMs: limits.timeoutMs ?? NO_DEADLINE },
    )
  }

  /** The caller. Only for routes behind authentication. */
  requirePrincipal(): Principal {
    if (this.principal === undefined) throw new Rejection('AUTH_MISSING')
    return this.principal
  }

  /**
   * Refuses a caller whose credential the operation does not take, with KEY_KIND_FORBIDDEN, and one without any where
   * it takes some, with AUTH_MISSING.
   */
  requireOneOf(credentials: Credentials): void {
    if (credentials.length === 0) return
    if (this.credential === undefined) throw new Rejection('AUTH_MISSING')
    if (!credentials.includes(this.credential))
      throw new Rejection('KEY_KIND_FORBIDDEN', { credential: this.credential })
  }
}

/** A response, and the call that it belongs to. */
type Called = Response & { portico: Call }

/** Associates a response with its call. */
export function setCallOf(response: Response, call: Call): void {
  ;(response as Called).portico = call
}

export function callOf(response: Response): Call {
  return (response as Called).portico
}

/** Ends what the request of a response has running, if it has begun: the server stops. */
export function stopCallOf(response: ServerResponse): void {
  ;(response as Partial<Called>).portico?.stop()
}
