import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from './wait-until.ts'

/** How often a number has to be the same, between turns of the event loop; on a busy machine, that takes longer. */
const TIMES = 40

/** Waits until what this process counts has begun to grow, and then stops growing. */
export async function untilStill(what: string, count: () => number): Promise<void> {
  let [last, times] = [0, 0]
  await waitFor(`${what} to stand still`, async () => {
    await sleep(5)
    times = count() === last && last > 0 ? times + 1 : 0
    last = count()
    return times === TIMES
  })
}
