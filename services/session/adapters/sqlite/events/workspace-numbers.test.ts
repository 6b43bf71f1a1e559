import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { SQLITE } from '#services/session/adapters/schema.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { WorkspaceNumbers } from './workspace-numbers.ts'

test('a workspace keeps its number, and a number that was rolled back belongs to no workspace', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-numbers-'))
  try {
    const undone = (): void => numbers.forget()
    await using file = new SqliteFile(join(directory, 'session.sqlite'), { schema: SQLITE, exclusive: true, undone })
    const numbers = new WorkspaceNumbers(file)
    const take = (workspace: string, fails = false): Promise<number> =>
      file.write(() => {
        const number = numbers.take(workspace)
        if (fails) throw new Error('undone')
        return number
      })
    assert.equal(numbers.find('wrk_a'), undefined)
    const first = await take('wrk_a')
    const [lost, second] = await Promise.allSettled([take('wrk_b', true), take('wrk_c')])
    assert.equal(lost.status, 'rejected')
    await assert.rejects(take('wrk_d', true), /undone/)
    const third = await take('wrk_e')
    assert.deepEqual([numbers.find('wrk_b'), numbers.find('wrk_d')], [undefined, undefined])
    assert.ok(second.status === 'fulfilled')
    assert.equal(new Set([first, second.value, third]).size, 3)
    numbers.forget()
    assert.deepEqual(
      ['wrk_a', 'wrk_c', 'wrk_e'].map((id) => numbers.find(id)),
      [first, second.value, third],
    )
  } finally {
    await rm(directory, { recursive: true })
  }
})
