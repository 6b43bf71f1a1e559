import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { Code, ConnectError, type ContextValues, type HandlerContext } from '@connectrpc/connect'
import { detached } from '#shared/telemetry/tracing.ts'
import type { Caller } from './call-context.ts'

let over: ConnectError | undefined

/**
 * Created once, since creating an error costs more than the rest of a call, and lazily, since its headers load the
 * client behind `fetch`.
 */
function callIsOver(): ConnectError {
  over ??= new ConnectError('The call is over', Code.Canceled)
  return over
}

/** Calls that began in this turn of the event loop. */
let begun: LocalContext[] = []

/**
 * Most calls end in the turn in which they began, and listening to their caller and setting a timer would take as long
 * as all the rest of them.
 */
function watchNextTurn(context: LocalContext): void {
  if (begun.push(context) > 1) return
  // What ends them belongs to none of their requests in particular.
  detached(() => setImmediate(watchAll))
}

function watchAll(): void {
  const contexts = begun
  begun = []
  for (const context of contexts) context.watch()
}

/**
 * What a handler sees of a local call. Everything expensive is created when it is first read, since most handlers never
 * use headers or the signal. The caller and the deadline are watched from the next turn of the event loop on, or once
 * the signal is read.
 */
export class LocalContext implements HandlerContext, Caller {
  readonly method: DescMethod
  readonly values: ContextValues
  readonly protocolName = 'local'
  readonly requestMethod = 'POST'
  readonly url = 'local:'
  readonly #caller: Caller | undefined
  readonly #listeners = new Set<() => void>()
  readonly #header: ConstructorParameters<typeof Headers>[0]
  readonly #deadline: number | undefined
  #controller: AbortController | undefined
  #timer: NodeJS.Timeout | undefined
  #watched = false
  #closed = false
  #fail: ((error: ConnectError) => void) | undefined
  #failure: ConnectError | undefined
  #requestHeader: Headers | undefined
  #responseHeader: Headers | undefined
  #responseTrailer: Headers | undefined
  /** Called when the caller is gone or the deadline has passed. */
  onEnd: (() => void) | undefined
  readonly #onAbort = (): void => this.#end(new ConnectError('The call was canceled', Code.Canceled))

  /** As with Connect's own transports, a `timeoutMs` that is not above zero means no deadline. */
  constructor(
    method: DescMethod,
    caller: Caller | undefined,
    timeoutMs: number,
    header: ConstructorParameters<typeof Headers>[0],
    values: ContextValues,
  ) {
    this.method = method
    this.values = values
    this.#caller = caller
    this.#header = header
    if (timeoutMs > 0) this.#deadline = performance.now() + timeoutMs
    if (caller !== undefined || timeoutMs > 0) watchNextTurn(this)
  }

  /** From now on, the call ends when its caller is gone or its deadline has passed. */
  watch(): void {
    if (this.#watched || this.#closed || this.#failureSoFar() !== undefined) return
    this.#watched = true
    this.#caller?.onGone(this.#onAbort)
    if (this.#deadline === undefined) return
    const expire = (): void => this.#end(new ConnectError('The deadline has passed', Code.DeadlineExceeded))
    this.#timer = setTimeout(expire, Math.max(0, this.#deadline - performance.now()))
  }

  get service(): DescService {
    return this.method.parent
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.watch()
      this.#controller = new AbortController()
      const failure = this.#failureSoFar()
      if (failure !== undefined) this.#controller.abort(failure)
    }
    return this.#controller.signal
  }

  /** It is also the caller of the calls that the handler makes. */
  get isGone(): boolean {
    return this.#closed || this.#failureSoFar() !== undefined
  }

  onGone(listener: () => void): void {
    this.watch()
    this.#listeners.add(listener)
  }

  offGone(listener: () => void): void {
    this.#listeners.delete(listener)
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= new Headers(this.#header)
    return this.#requestHeader
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers()
    return this.#responseHeader
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers()
    return this.#responseTrailer
  }

  // A getter, because handlers take the function out of the context.
  get timeoutMs(): () => number | undefined {
    const deadline = this.#deadline
    return () => (deadline === undefined ? undefined : Math.max(0, deadline - performance.now()))
  }

  /** Throws if the caller is gone or the deadline has passed. */
  throwIfDone(): void {
    const failure = this.#failureSoFar()
    if (failure !== undefined) throw failure
  }

  /** Waits for the handler, but no longer than the caller does. */
  race<T>(work: Promise<T> | T): Promise<T> {
    if (this.#caller === undefined && this.#deadline === undefined) return Promise.resolve(work)
    return new Promise<T>((resolve, reject) => {
      const failure = this.#failureSoFar()
      if (failure !== undefined) reject(failure)
      this.#fail = reject
      Promise.resolve(work).then(resolve, reject)
    })
  }

  /** The reason why the caller stopped waiting, if that is why something was thrown. */
  explain(error: unknown): ConnectError | undefined {
    const failure = this.#failureSoFar()
    return error instanceof ConnectError && error !== failure ? undefined : failure
  }

  /** Ends the call: whatever the handler left running is ended, and nothing of the call remains. */
  close(): void {
    if (this.#watched) this.#caller?.offGone(this.#onAbort)
    if (this.#timer !== undefined) clearTimeout(this.#timer)
    this.#closed = true
    this.#controller?.abort(this.#failureSoFar())
    for (const listener of this.#listeners) listener()
  }

  /** Why the call is over; undefined if it is not. */
  #failureSoFar(): ConnectError | undefined {
    if (this.#closed) this.#failure ??= callIsOver()
    else if (this.#caller?.isGone === true) this.#onAbort()
    return this.#failure
  }

  #end(failure: ConnectError): void {
    if (this.#closed || this.#failure !== undefined) return
    this.#failure = failure
    this.#controller?.abort(failure)
    for (const listener of this.#listeners) listener()
    this.#fail?.(failure)
    this.onEnd?.()
  }
}
