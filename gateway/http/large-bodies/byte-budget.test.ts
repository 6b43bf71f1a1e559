import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteBudget } from './byte-budget.ts'

const { signal } = new AbortController()

/** A budget of 10 bytes, and who got what was asked of it so far. */
function askedBudget() {
  const budget = new ByteBudget(10)
  const served: string[] = []
  const ask = async (name: string, bytes: number, by = signal): Promise<Disposable> => {
    const taken = await budget.take(bytes, by)
    served.push(name)
    return taken
  }
  return { ask, served }
}

test('the remaining budget is given out in order, and small requests do not overtake a large one', async () => {
  const { ask, served } = askedBudget()
  const first = await ask('first', 6)
  const large = ask('large', 8)
  const small = ask('small', 1)
  await new Promise(setImmediate)
  assert.deepEqual(served, ['first'])
  first[Symbol.dispose]()
  await Promise.all([large, small])
  assert.deepEqual(served, ['first', 'large', 'small'])
})

test('a request for more than the budget gets all of it, alone; what is returned twice counts once', async () => {
  const { ask, served } = askedBudget()
  const first = await ask('first', 1)
  const huge = ask('huge', 1_000)
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  const all = await huge
  void ask('next', 1)
  await new Promise(setImmediate)
  assert.deepEqual(served, ['first', 'huge'])
  all[Symbol.dispose]()
  await new Promise(setImmediate)
  assert.deepEqual(served, ['first', 'huge', 'next'])
})

test('a waiter that gives up makes way, and keeps nothing', async () => {
  const { ask, served } = askedBudget()
  const first = await ask('first', 6)
  const leaving = new AbortController()
  const gone = ask('gone', 8, leaving.signal)
  const next = ask('next', 4)
  leaving.abort(new Error('gone'))
  await assert.rejects(gone, { message: 'gone' })
  await next
  assert.deepEqual(served, ['first', 'next'])
  await assert.rejects(ask('late', 1, leaving.signal), { message: 'gone' })
  first[Symbol.dispose]()
  await ask('last', 6)
})
