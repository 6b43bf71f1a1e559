import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'

let [prepared, running, most] = [0, 0, 0]

describe('a suite', { concurrency: true }, () => {
  beforeEach(() => void prepared++)
  for (const name of ['one', 'other']) {
    test(name, async (t) => {
      most = Math.max(most, ++running)
      assert.equal(t.fullName, `a suite > ${name}`)
      await new Promise(setImmediate)
      running--
    })
  }
})

test('the tests of a suite are below it, and its hooks and options are for them alone', () => {
  assert.deepEqual([prepared, most], [2, 2])
})
