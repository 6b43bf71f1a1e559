import { createContextKey, type Transport } from '@connectrpc/connect'

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

/** A caller with a signal. */
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
