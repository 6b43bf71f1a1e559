import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FetchSlots } from './fetch-slots.ts'

const NEVER = new AbortController().signal

test('at most 32 fetches run at once, and 4 of one organization; all get their turn, those of one organization in order', async () => {
  const slots = new FetchSlots(32, 4)
  const running = new Map<string, number>()
  const [begun, peaks]: [string[], number[]] = [[], []]
  const total = () => [...running.values()].reduce((sum, count) => sum + count, 0)
  const work = (organization: string, index: number) =>
    slots.run(organization, NEVER, async () => {
      begun.push(`${organization} ${index}`)
      running.set(organization, (running.get(organization) ?? 0) + 1)
      assert.ok(total() <= 32 && (running.get(organization) ?? 0) <= 4)
      peaks.push(total())
      for (let turns = index % 7; turns >= 0; turns--) await nextTurn()
      running.set(organization, (running.get(organization) ?? 0) - 1)
      if (index % 5 === 0) throw new Error('it failed')
      return index
    })
  const organizations = Array.from({ length: 12 }, (_, i) => `org_${i}`)
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) => organizations.map((organization) => work(organization, index))).flat(),
  )
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 12 * 16)
  assert.equal(Math.max(...peaks), 32)
  for (const organization of organizations) {
    const order = begun.filter((one) => one.startsWith(`${organization} `))
    assert.deepEqual(
      order,
      Array.from({ length: 20 }, (_, index) => `${organization} ${index}`),
    )
  }
})

test('a waiting fetch is removed by its signal, and a running one goes on', async () => {
  const slots = new FetchSlots(1, 1)
  const { promise, resolve } = Promise.withResolvers<string>()
  const superseded = new AbortController()
  const first = slots.run('org_1', superseded.signal, () => promise)
  const second = slots.run('org_1', superseded.signal, async () => assert.fail('it was superseded'))
  const third = slots.run('org_1', NEVER, async () => 'third')
  superseded.abort(new Error('superseded'))
  await assert.rejects(second, /superseded/)
  resolve('first')
  assert.deepEqual(await Promise.all([first, third]), ['first', 'third'])
})
