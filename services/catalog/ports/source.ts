import type { Location } from '../domain/location.ts'

/** One kind of thing that locations offer: agents, tools. A location holds an open one of each. */
export interface Source<T> {
  /**
   * Begins to look after a location. Sources that are given one object as their location may share what they need. `changed` is called, any number of times, when reading may return something else:
   * soon after the change where the system notices changes, later where it has to be looked for.
   */
  open(location: Location, changed: () => void): OpenSource<T>
}

/** A source that looks after one location. Disposing it releases what it watches. */
export interface OpenSource<T> extends Disposable {
  /**
   * What is offered at this moment, whether `changed` was called or not. May be called again while it reads. `start`: what has to
   * be started before it can be known is started, and waited for, some seconds at most; else what is known of it counts.
   */
  read(start?: boolean): Promise<Offer<T>>
}

/** What a source offers. */
export interface Offer<T> {
  readonly value: T
  /** Differs whenever the value says something else; the same for the same, in every process. */
  readonly digest: string
  /** Why configuration that is there could not be read, so that it counts as it was before, if it was. */
  readonly problems?: readonly string[] | undefined
}
