import type { StoreHealth } from '#shared/stores/store-health.ts'
import { isDamaged, mayRepeat, STORE_AGAIN_MS } from '#shared/stores/store-outage.ts'

/** While the store takes writes, a call that fails is tried so often: its watch may notice later than we do. */
const MOST_TRIES = 10

/** A call fails again and again though the store is there: what it is about can't be read or written. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault'

  constructor(cause: unknown) {
    super('The store is there, but a call of it always fails', { cause })
  }
}

/**
 * A store as a run sees it: while it is away, its calls wait until it is back, or `pause` throws. Thrown is an outage after
 * which nobody knows whether a write was done: then the next owner looks what is there; and StoreFault.
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
