import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { asOperator, openCatalog } from '#test/support/catalog.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { openOutputPipe } from './output-pipe.ts'

const module = fileURLToPath(new URL('output-pipe.ts', import.meta.url))

/** A folder with its own mkfifo, which is found first. */
function withMkfifo(script: string) {
  const folder = scratchDirectory()
  const [bin, temporary] = [join(folder.path, 'bin'), join(folder.path, 'tmp')]
  for (const directory of [bin, temporary]) mkdirSync(directory)
  writeFileSync(join(bin, 'mkfifo'), `#!/bin/sh\n${script}\n`)
  chmodSync(join(bin, 'mkfifo'), 0o755)
  return { temporary, path: `${bin}:${process.env.PATH}`, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

/** What the first call after a start does with the folder for temporary files. */
async function start(temporary: string): Promise<void> {
  const catalog = await openCatalog({ environment: { PATH: process.env.PATH ?? '', TMPDIR: temporary } })
  await catalog.client.listAgents({}, asOperator)
  await catalog[Symbol.asyncDispose]()
}

test('a start removes the pipe of a killed process', async () => {
  using folder = withMkfifo('touch "$3"; kill -9 $PPID')
  const code = `import { openOutputPipe } from ${JSON.stringify(module)}; await openOutputPipe(process.argv[1], process.argv[2])`
  const words = ['--input-type=module', '--eval', code, folder.temporary, folder.path]
  assert.deepEqual(await once(spawn(process.execPath, words, { stdio: 'ignore' }), 'exit'), [null, 'SIGKILL'])
  assert.equal(readdirSync(folder.temporary).length, 1)
  await start(folder.temporary)
  assert.deepEqual(readdirSync(folder.temporary), [])
})

test('a start leaves the pipes of living processes and foreign folders alone', async () => {
  using folder = withMkfifo('while ! [ -e "$3.go" ]; do sleep 0.02; done; PATH=/usr/bin:/bin exec mkfifo "$@"')
  const opening = openOutputPipe(folder.temporary, folder.path)
  await waitFor('the folder of the pipe', () => readdirSync(folder.temporary).length === 1)
  const [name = ''] = readdirSync(folder.temporary)
  // Of another container, whose process ids mean nothing here; and an old one.
  const [foreign, old] = [`portico-pipe-1-${2 ** 22 + 1}-abcdef`, 'portico-pipe-abcdef']
  for (const directory of [foreign, old, 'somebody-elses']) mkdirSync(join(folder.temporary, directory))
  utimesSync(join(folder.temporary, old), new Date(0), new Date(0))
  await start(folder.temporary)
  assert.deepEqual(readdirSync(folder.temporary).sort(), [name, foreign, 'somebody-elses'].sort())
  writeFileSync(join(folder.temporary, name, 'pipe.go'), '')
  const pipe = await opening
  pipe.reader.destroy()
  await pipe.closeWriter()
  assert.equal(existsSync(join(folder.temporary, name)), false)
})
