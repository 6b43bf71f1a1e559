import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Broadcast, type BroadcastReader } from './broadcast.ts'

/**
 * Items are `+` with a position, `-` with a text that has no position, or `gap`. The size of an item is its length. One
 * that ends with `!` makes those void that end with `?`.
 */
function stream(size = (item: string): number => item.length) {
  const items: (string | Error)[] = []
  let wake = (): void => {}
  let pulled = 0
  let closed = 0
  const source = async function* (): AsyncGenerator<string, undefined> {
    for (;;) {
      const item = items.shift()
      if (item instanceof Error) throw item
      if (item === undefined) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        await promise
      } else {
        pulled++
        yield item
      }
    }
  }
  const shared = new Broadcast<string>({
    source: source(),
    positionOf: (item) => (item.startsWith('+') ? item.slice(1) : undefined),
    isGap: (item) => item === 'gap',
    voids: (item) => (item.endsWith('!') ? (earlier) => earlier.endsWith('?') : undefined),
    sizeOf: size,
    close: () => closed++,
  })
  return {
    shared,
    emit(...more: (string | Error)[]) {
      items.push(...more)
      wake()
    },
    pulled: () => pulled,
    closed: () => closed,
  }
}

async function take(reader: BroadcastReader<string>, count: number): Promise<(string | undefined)[]> {
  const taken: (string | undefined)[] = []
  for (let i = 0; i < count; i++) taken.push((await reader.next()).value)
  return taken
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('each item is pulled once, and all readers get it in order', async () => {
  const { shared, emit, pulled } = stream()
  emit('+10')
  await shared.opened
  const readers = Array.from({ length: 50 }, () => shared.read())
  emit('+11', '-a', '+12')
  for (const reader of readers) assert.deepEqual(await take(reader, 3), ['+11', '-a', '+12'])
  assert.equal(pulled(), 4)
  assert.equal(shared.last, '12')
})

test('an item is pulled only while a reader waits, and one reader is enough', async () => {
  const { shared, emit, pulled } = stream()
  emit('+10')
  await shared.opened
  const [fast, slow] = [shared.read(), shared.read()]
  emit('+11', '+12', '+13')
  await settle()
  assert.equal(pulled(), 1)
  assert.deepEqual(await take(fast, 3), ['+11', '+12', '+13'])
  assert.deepEqual(await take(slow, 3), ['+11', '+12', '+13'])
})

test('a reader that joins gets the items after its position, or, without one, later items only', async () => {
  const { shared, emit } = stream()
  emit('+10')
  await shared.opened
  const first = shared.read()
  emit('+11', '-a', '+12', '-b')
  await take(first, 4)
  assert.deepEqual(
    ['09', '10', '11', '115', '12', '13'].map((position) => [shared.covers(position), shared.knows(position)]),
    [
      [false, false],
      [true, true],
      [true, true],
      [true, false],
      [true, true],
      [true, false],
    ],
  )
  const joined = [shared.read('10'), shared.read('11'), shared.read('13'), shared.read()]
  emit('-c', '+13', '+14')
  const lasts = await Promise.all(joined.map((reader, i) => take(reader, [5, 4, 2, 3][i] ?? 0)))
  assert.deepEqual(lasts, [
    ['+11', '+12', '-c', '+13', '+14'],
    ['+12', '-c', '+13', '+14'],
    ['-c', '+14'],
    ['-c', '+13', '+14'],
  ])
})

test('positions before a gap are not covered', async () => {
  const { shared, emit } = stream()
  emit('+10')
  await shared.opened
  const reader = shared.read()
  emit('+11', 'gap', '-a')
  assert.deepEqual(await take(reader, 3), ['+11', 'gap', '-a'])
  assert.ok(!shared.covers('11') && !shared.knows('11'))
  emit('+12')
  await take(reader, 1)
  assert.ok(!shared.covers('11') && shared.covers('12') && shared.knows('12'))
})

test('a reader skips what it does not want, and is not woken by it', async () => {
  const { shared, emit } = stream()
  emit('+10')
  await shared.opened
  const reader = shared.read(undefined, (item) => item.endsWith('!'))
  const next = reader.next()
  emit('+11', '+12', '+13!', '+14', '+15!')
  assert.deepEqual((await next).value, '+13!')
  assert.deepEqual(await take(reader, 1), ['+15!'])
})

test('an item that cannot be taken in ends the stream for all readers, with the error', async () => {
  const { shared, emit } = stream((item) => (item === '-bad' ? assert.fail('no size') : item.length))
  emit('+10')
  await shared.opened
  const readers = [shared.read(), shared.read()]
  const waiting = readers.map((reader) => assert.rejects(reader.next(), /no size/))
  emit('-bad')
  await Promise.all(waiting)
  assert.ok(shared.isOver)
})

for (const [what, count, size] of [
  ['items', 4_096, 1],
  ['characters', 400, 167_773],
] as const) {
  test(`a reader that falls behind by too many ${what} fails, the others go on, and memory is bounded`, async () => {
    const { shared, emit } = stream(() => size)
    emit('+10000')
    await shared.opened
    const [fast, slow] = [shared.read(), shared.read()]
    for (let n = 0; n < 3 * count; n++) {
      emit(`+${10_001 + n}`)
      await fast.next()
    }
    assert.ok(shared.items.length <= count + 1, `${shared.items.length} are kept`)
    await assert.rejects(slow.next(), { reason: 'EVENTS_OVERFLOWED' })
    slow.leave()
    emit('+99999')
    assert.deepEqual(await take(fast, 1), ['+99999'])
  })
}

test('a reader that has not read a long item yet does not fail because others follow', async () => {
  const { shared, emit } = stream((item) => (item.endsWith('long') ? 7_000_000 : item.length))
  emit('+10')
  await shared.opened
  const [fast, slow] = [shared.read(), shared.read()]
  const items = ['+11long', '+12', '+13long', '-a', '+14long', '+15']
  emit(...items)
  assert.deepEqual(await take(fast, items.length), items)
  assert.deepEqual(await take(slow, items.length), items)
})

test('a reader that has fallen behind, but has not noticed it, keeps nothing', async () => {
  const { shared, emit } = stream(() => 10_000_000)
  emit('+10')
  await shared.opened
  const [fast, slow] = [shared.read(), shared.read()]
  for (let n = 11; n < 30; n++) {
    emit(`+${n}`)
    await fast.next()
  }
  assert.deepEqual(shared.items, ['+29'])
  await assert.rejects(slow.next(), { reason: 'EVENTS_OVERFLOWED' })
})

test('keeps only the newest of the items that every reader has read', async () => {
  const { shared, emit } = stream()
  emit('+10000')
  await shared.opened
  const readers = [shared.read(), shared.read()]
  for (let n = 0; n < 3_000; n++) {
    emit(`+${10_001 + n}`)
    for (const reader of readers) await reader.next()
  }
  assert.ok(shared.items.length <= 512, `${shared.items.length} are kept`)
  assert.ok(!shared.covers('10001') && shared.covers('13000'))
})

test('a failure reaches every reader after the items that came before it', async () => {
  const { shared, emit } = stream()
  emit('+10')
  await shared.opened
  const [fast, slow] = [shared.read(), shared.read()]
  emit('+11', new Error('cut'))
  assert.deepEqual(await take(fast, 1), ['+11'])
  await assert.rejects(fast.next(), /cut/)
  assert.deepEqual(await take(slow, 1), ['+11'])
  await assert.rejects(slow.next(), /cut/)
})

test('a reader that leaves ends its wait; the stream closes when its last user releases it', async () => {
  const { shared, emit, closed } = stream()
  const uses = [shared.use(), shared.use()]
  emit('+10')
  await shared.opened
  const [one, other] = [shared.read(), shared.read()]
  const waiting = one.next()
  one.leave()
  assert.equal((await waiting).done, true)
  uses[0]?.()
  uses[0]?.()
  assert.equal(closed(), 0)
  const last = other.next()
  uses[1]?.()
  assert.equal(closed(), 1)
  assert.equal((await last).done, true)
})

test('a source that fails at once fails the opening, and ends the broadcast', async () => {
  const { shared, emit } = stream()
  emit(new Error('away'))
  await assert.rejects(shared.opened, /away/)
  assert.ok(shared.isOver)
})

test('an item that voids earlier ones hides them from readers that have not reached them; a reader may still resume at such an item', async () => {
  const { shared, emit } = stream()
  emit('+10')
  await shared.opened
  const [fast, slow] = [shared.read(), shared.read()]
  emit('+11?', '+12', '+13?', '+14!', '+15?')
  assert.deepEqual(await take(fast, 5), ['+11?', '+12', '+13?', '+14!', '+15?'])
  assert.deepEqual(await take(slow, 3), ['+12', '+14!', '+15?'])
  assert.ok(shared.knows('13?'))
  assert.deepEqual(await take(shared.read('10'), 3), ['+12', '+14!', '+15?'])
  assert.deepEqual(await take(shared.read('11?'), 2), ['+12', '+14!'])
})
