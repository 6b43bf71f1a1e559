import { test } from 'node:test'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { pause } from '../pause.ts'
import { Remover, type RemoverOptions } from './remover.ts'

const HOUR_MS = 3_600_000

test('the remover looks again when it is woken, even while its last look ends', async () => {
  for (let turns = 0; turns < 20; turns++) {
    let looks = 0
    const swept = Promise.withResolvers<boolean>()
    const options: Partial<RemoverOptions> = {
      blobs: { sweep: () => swept.promise },
      logger: silentLogger,
      pause,
      pollMs: HOUR_MS,
    }
    const store: Partial<RemoverOptions['store']> = {
      takeRemoval: async () => {
        looks++
        return undefined
      },
    }
    await using remover = new Remover({ ...options, store } as RemoverOptions)
    await waitFor('the first look', () => looks === 1)
    swept.resolve(false)
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    remover.wake()
    await waitFor(`a look after ${turns} turns`, () => looks >= 2)
  }
})
