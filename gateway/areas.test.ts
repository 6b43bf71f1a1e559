import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_OPERATIONS } from './all-operations.ts'
import { AREAS } from './areas.ts'
import { familyOf, secondPath } from './family.ts'

test('each operation is in the area that its paths belong to', async () => {
  const served = await Promise.all(AREAS.map(async ({ families, load }) => ({ families, operations: await load() })))
  const strays = served.flatMap(({ families, operations }) =>
    operations.filter(({ path }) => {
      const paths = [path, secondPath(path) ?? path]
      return !paths.every((one) => families.includes(familyOf(one)))
    }),
  )
  assert.deepEqual(strays, [])
  const ids = (operations: readonly { readonly id: string }[]): string[] => operations.map(({ id }) => id).sort()
  assert.deepEqual(ids(served.flatMap(({ operations }) => operations)), ids(ALL_OPERATIONS))
})
