import { createContextKey, type Transport } from '@connectrpc/connect'

/**
 * Who waits for a call, which ends when they are gone. In this place of an abort signal it costs nothing until somebody listens: most
 * calls are over before anybody does, and to make a signal, listen to it and abort it takes longer than all the rest of a call in one process.
 */
export interface Caller {
  readonly isGone: boolean
  /** Aborts when the caller is gone; made when it is asked for. */
  readonly signal: AbortSignal
  /** Has a listener called, once, when the caller is gone. */
  onGone(listener: () => void): void
  offGone(listener: () => void): void
}

/** Where the caller of a call lies that has no signal. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'caller' })

/** A transport that takes callers as they are; every other one is given their signals. */
export interface CallerTransport extends Transport {
  readonly takesCallers: true
}

/** A caller of whom there is a signal. */
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

/** Those who want to know when a caller is gone. */
export class GoneListeners {
  #listeners: Set<() => void> | undefined

  add(listener: () => void): void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
  }

  delete(listener: () => void): void {
    this.#listeners?.delete(listener)
  }

  /** The caller is gone. */
  call(): void {
    const listeners = this.#listeners
    this.#listeners = undefined
    for (const listener of listeners ?? []) listener()
  }
}
