import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { testPlanted } from './find-planted.ts'
import { OPERATION_PLANTS, RUN_PLANTS } from './plants.ts'

test('every fault has its place in the product', () => {
  for (const { title, file, from } of [...RUN_PLANTS, ...OPERATION_PLANTS]) {
    const pieces = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(from)
    assert.equal(pieces.length, 2, `${title}: ${file} does not have “${from}” once`)
  }
})

for (const planted of RUN_PLANTS) testPlanted(planted)
