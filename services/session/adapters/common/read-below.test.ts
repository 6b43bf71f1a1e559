import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Below, MOST_BELOW, readBelow } from './read-below.ts'

interface Session {
  readonly sessionId: string
}

/** What is found below a session of a family. */
function below(id: string, ancestors: readonly string[], childrenOf: (id: string) => readonly string[]) {
  const reading = readBelow<Session>(id, ancestors)
  let step: IteratorResult<string, readonly Below<Session>[]> = reading.next()
  while (!step.done)
    step = reading.next(
      childrenOf(step.value)
        .map((child) => ({ sessionId: child }))
        .slice(0, MOST_BELOW),
    )
  return step.value
}

test('children come before their parents, each with its ancestors', () => {
  const family: Record<string, string[]> = { a: ['b', 'c'], b: ['d', 'e'], e: ['f'] }
  const found = below('a', ['x', 'y'], (id) => family[id] ?? [])
  assert.deepEqual(
    found.map(({ session, ancestors }) => [session.sessionId, ancestors.join('')]),
    [
      ['d', 'baxy'],
      ['f', 'ebaxy'],
      ['e', 'baxy'],
      ['b', 'axy'],
      ['c', 'axy'],
    ],
  )
  assert.deepEqual(
    below('c', [], () => []),
    [],
  )
})

test('a family of any depth and width is read, some at a time, and no parent before all of its children', () => {
  const deep = below('0', [], (id) => (Number(id) < 100_000 ? [String(Number(id) + 1)] : []))
  assert.deepEqual(
    [deep.length, deep[0]?.session.sessionId, deep[0]?.ancestors.length],
    [MOST_BELOW, '100000', 100_000],
  )
  const wide = below('0', [], (id) => (id === '0' ? Array.from({ length: 50 }, (_, n) => `${n + 1}`) : []))
  assert.equal(wide.length, MOST_BELOW)
})
