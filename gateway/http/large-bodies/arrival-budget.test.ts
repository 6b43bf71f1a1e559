import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Arrival, ArrivalBudget } from './arrival-budget.ts'

const { signal } = new AbortController()

/**
 * A budget of bytes, of which one owner may hold 4. `ask` takes 2 for a body, whose name begins with that of its owner;
 * `served` names those that got theirs.
 */
function openBudget(most = 6) {
  const budget = new ArrivalBudget(most, 4)
  const served: string[] = []
  const bodies = new Map<string, Arrival>()
  const bodyOf = (name: string): Arrival => {
    const body = bodies.get(name) ?? { owner: name.charAt(0), held: 0 }
    bodies.set(name, body)
    return body
  }
  const ask = async (name: string, by = signal): Promise<void> => {
    await budget.take(bodyOf(name), 2, by)
    served.push(name)
  }
  const asked = async (...names: string[]): Promise<void> => {
    for (const name of names) void ask(name)
    await new Promise(setImmediate)
  }
  return { ask, asked, served, release: (name: string) => budget.release(bodyOf(name)) }
}

test('an owner gets a part of the budget, and others the rest', async () => {
  const { asked, served, release } = openBudget()
  await asked('a1', 'a2', 'a3', 'b1', 'c1')
  assert.deepEqual(served, ['a1', 'a2', 'b1'])
  release('a2')
  await new Promise(setImmediate)
  assert.deepEqual(served, ['a1', 'a2', 'b1', 'a3'])
})

test('the oldest body always goes on, then the older ones before younger ones', async () => {
  const { asked, served, release } = openBudget()
  await asked('a1', 'b1', 'c1')
  await asked('c1', 'b1', 'a1', 'd1')
  assert.deepEqual(served.splice(0), ['a1', 'b1', 'c1', 'a1'])
  release('a1')
  await new Promise(setImmediate)
  assert.deepEqual(served.splice(0), ['b1'])
  release('b1')
  await new Promise(setImmediate)
  assert.deepEqual(served, ['c1', 'd1'])
})

test('the oldest of an owner is not limited by what its younger ones hold', async () => {
  const { asked, served } = openBudget(20)
  await asked('b1', 'a1', 'a2', 'a1', 'a2')
  assert.deepEqual(served, ['b1', 'a1', 'a2', 'a1'])
})

test('who gives up waiting gets nothing', async () => {
  const { ask, asked, served, release } = openBudget()
  await asked('a1', 'b1', 'c1')
  const leaving = new AbortController()
  const gone = ask('d1', leaving.signal)
  await asked('e1')
  leaving.abort(new Error('gone'))
  await assert.rejects(gone, { message: 'gone' })
  release('b1')
  await new Promise(setImmediate)
  assert.deepEqual(served, ['a1', 'b1', 'c1', 'e1'])
  await assert.rejects(ask('f1', leaving.signal), { message: 'gone' })
})
