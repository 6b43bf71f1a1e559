import { whenStoreIsBack } from '#shared/store-outage.ts'
import type { Pause } from './pause.ts'

/**
 * A store as a run sees it: while it is away, its calls wait until it is back, or the signal aborts. Only an outage after
 * which nobody knows whether a write was done is thrown: then the next owner looks what is there.
 */
export function patientPort<P extends object>(port: P, pause: Pause, signal: AbortSignal): P {
  return new Proxy(port, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target)
      if (typeof member !== 'function') return member
      return (...words: unknown[]): unknown => {
        const answer: unknown = Reflect.apply(member, target, words)
        if (!(answer instanceof Promise)) return answer
        let first: Promise<unknown> | undefined = answer
        return whenStoreIsBack(
          (ms) => pause(ms, signal),
          () => {
            const call = first ?? (Reflect.apply(member, target, words) as Promise<unknown>)
            first = undefined
            return call
          },
        )
      }
    },
  })
}
