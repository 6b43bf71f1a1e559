import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diskProblem } from './disk-problem.ts'

test('a failed read or write of SQLite is reported with the hint that the disk may be full', () => {
  const failed = (errcode: number, text: string) =>
    Object.assign(new Error(text), { code: 'ERR_SQLITE_ERROR', errcode })
  const SHMSIZE = 4_874
  assert.deepEqual(diskProblem(failed(SHMSIZE, 'a.sqlite: disk I/O error')), {
    kind: 'away',
    text: 'a.sqlite: disk I/O error (the disk may be full)',
  })
  assert.deepEqual(diskProblem(failed(13, 'a.sqlite: database or disk is full')), {
    kind: 'full',
    text: 'a.sqlite: database or disk is full',
  })
})
