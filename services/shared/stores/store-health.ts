/** Whether a service can write to its store, and if not, why. Anybody may read it, so details are only logged. */
export type StoreState = { readonly ok: true } | { readonly ok: false; readonly kind: StoreProblem['kind'] }

/** The health of a service's store. */
export interface StoreHealth {
  state(): StoreState
  /** Calls the listener whenever the state has changed, until the returned object is disposed. */
  onChange(listener: () => void): Disposable
}

/**
 * What an error of a driver means for the store. `full`: there is no room left; `damaged`: its contents cannot be read.
 */
export interface StoreProblem {
  readonly kind: 'away' | 'full' | 'damaged'
  readonly text: string
  /** The write may have been carried out nevertheless. */
  readonly outcomeUnknown?: boolean
  /** Somebody else was writing the same record for the whole time limit of the call; the store itself may be well. */
  readonly locked?: boolean
}
