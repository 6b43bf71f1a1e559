import type { StoreHealth } from '#shared/stores/store-health.ts'
import { isDamaged, mayRepeat, STORE_AGAIN_MS } from '#shared/stores/store-outage.ts'

/**
 * How often a failing call is tried while the store accepts writes: its watch may notice an outage later than this call
 * does.
 */
const MOST_TRIES = 10

/** A call keeps failing although the store is available: its data can't be read or written. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault'

  constructor(cause: unknown) {
    super('The store is available, but one of its calls keeps failing', { cause })
  }
}

/**
 * A store as a run sees it: while it is unavailable, its calls wait until it is back, or until `pause` throws. Throws
 * StoreFault, and an outage after which it is unknown whether a write was done; the next owner then finds out.
 */
export function patientPort<P extends object>(port: P, health: StoreHealth, pause: (ms: number) => Promise<void>): P {
  return new Proxy(port, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target)
      if (typeof member !== 'function') return member
      return (...words: unknown[]): unknown => {
        const call = (): unknown => Reflect.apply(member, target, words)
        const answer = call()
        return answer instanceof Promise ? patiently(answer, call, health, pause) : answer
      }
    },
  })
}

async function patiently(
  first: Promise<unknown>,
  call: () => unknown,
  health: StoreHealth,
  pause: (ms: number) => Promise<void>,
): Promise<unknown> {
  let answer: unknown = first
  for (let tries = 1; ; tries++) {
    try {
      return await answer
    } catch (error) {
      if (isDamaged(error)) throw new StoreFault(error)
      if (!mayRepeat(error)) throw error
      if (!health.state().ok) tries = 0
      if (tries >= MOST_TRIES) throw new StoreFault(error)
    }
    await pause(STORE_AGAIN_MS)
    answer = call()
  }
}
