/** Whether a service can write its store, and if not, why. Anybody may read it: only the log says more. */
export type StoreState = { readonly ok: true } | { readonly ok: false; readonly kind: StoreProblem['kind'] }

/** What is known of a service's store. */
export interface StoreHealth {
  state(): StoreState
  /** Calls the listener when the state has changed, until what it returns is disposed. */
  onChange(listener: () => void): Disposable
}

/** What a driver's error says of the store. `full`: it has no room left; `damaged`: what it holds can't be read. */
export interface StoreProblem {
  readonly kind: 'away' | 'full' | 'damaged'
  readonly text: string
  /** The write may have been done all the same. */
  readonly outcomeUnknown?: boolean
  /** Somebody else was writing the same record all the time that the call had; the store itself may be well. */
  readonly locked?: boolean
}
