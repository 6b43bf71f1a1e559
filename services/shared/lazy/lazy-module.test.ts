import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lazyModule, loadTheRest } from './lazy-module.ts'

test('a module is loaded with the first call, once, and a failure is not kept', async () => {
  let loads = 0
  const get = lazyModule(async () => {
    loads += 1
    if (loads === 1) throw new Error('no such file')
    return loads
  })
  assert.equal(loads, 0)
  await assert.rejects(get(), /no such file/)
  assert.deepEqual(await Promise.all([get(), get()]), [2, 2])
  await loadTheRest()
  assert.equal(loads, 2)
})

test('a module that nobody has used is loaded with the rest', async () => {
  const loaded: string[] = []
  const modules = ['a', 'b'].map((name) => lazyModule(async () => loaded.push(name)))
  await modules[1]?.()
  await Promise.all([loadTheRest(), loadTheRest()])
  assert.deepEqual(loaded, ['b', 'a'])
})

test('the event loop takes a turn between two modules of the rest', async () => {
  const order: string[] = []
  for (const name of ['a', 'b']) {
    lazyModule(async () => {
      order.push(name)
      setImmediate(() => order.push('turn'))
    })
  }
  await loadTheRest()
  assert.deepEqual(order, ['a', 'turn', 'b', 'turn'])
})
