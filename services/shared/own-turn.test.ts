import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownTurn } from './own-turn.ts'

test('no two waiters go on in the same turn of the event loop', async () => {
  let turn = 0
  const count = (): void => {
    turn++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const turns = await Promise.all(
    Array.from({ length: 20 }, async () => {
      await ownTurn()
      return turn
    }),
  )
  clearImmediate(counting)
  assert.equal(new Set(turns).size, 20, `turns ${turns}`)
})
