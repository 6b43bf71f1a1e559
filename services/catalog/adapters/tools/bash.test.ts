import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { longSleep, openCatalog, processesWith, runTool } from '#test/support/catalog.ts'
import { waitFor } from '#test/support/wait-until.ts'
import type { CommandEnd } from '../commands/command.ts'
import { bashTool } from './bash.ts'
import type { ToolContext } from './tool.ts'

const linux = process.platform === 'linux' ? {} : { skip: 'needs /proc' }

test('a command runs in the location, and sees of the environment only what is on the list', async () => {
  await using catalog = await openCatalog({ environment: { PATH: process.env.PATH ?? '', LANG: 'C' } })
  const { text } = await runTool(catalog, 'bash', { command: 'pwd; env | cut -d= -f1 | sort | tr "\\n" " "' })
  assert.equal(text, `${catalog.project}\nCATALOG_TOOL_CALL LANG PATH PWD SHLVL _ `)
})

test('standard input is empty, and only the output is open', async () => {
  await using catalog = await openCatalog()
  assert.equal((await runTool(catalog, 'bash', { command: 'cat; echo end' })).text, 'end')
  const { text } = await runTool(catalog, 'bash', { command: 'echo hidden >&3' })
  assert.match(text, /3: Bad file descriptor\n\(exit code 1\)$/)
})

test('output can be opened by name, and keeps its order', async () => {
  await using catalog = await openCatalog()
  const command = 'echo a > /dev/stdout; echo b > /dev/stderr; echo c | tee /dev/stderr'
  assert.equal((await runTool(catalog, 'bash', { command })).text, 'a\nb\nc\nc')
})

test('a killed command reports its signal', async () => {
  await using catalog = await openCatalog()
  const { text, metadata } = await runTool(catalog, 'bash', { command: 'echo a; kill -SEGV $$' })
  assert.equal(text, 'a\n(ended by SIGSEGV)')
  assert.deepEqual(metadata, { signal: 'SIGSEGV', bytes: 2, truncated: false })
})

test('a command without output reports that', async () => {
  await using catalog = await openCatalog()
  assert.equal((await runTool(catalog, 'bash', { command: 'true' })).text, '(no output)')
})

test('output is capped: the beginning and the end are kept', async () => {
  await using catalog = await openCatalog()
  const { text, metadata } = await runTool(catalog, 'bash', {
    command: 'echo first; head -c 5000000 /dev/zero | tr "\\0" x; echo; echo last',
  })
  assert.ok(text.startsWith('first\nxxx') && text.endsWith('xxx\nlast'))
  assert.ok(Buffer.byteLength(text) < 52_000)
  assert.deepEqual(metadata, { exit_code: 0, bytes: 5_000_012, truncated: true })
})

test('a command is ended after its time, and its output is reported', async () => {
  await using catalog = await openCatalog()
  const tag = longSleep()
  const { failure, text } = await runTool(catalog, 'bash', {
    command: `echo up; sleep ${tag} & sleep ${tag}`,
    timeout: 300,
  })
  const message = 'The command took longer than 300 ms and was ended'
  assert.deepEqual([failure, text], [{ type: 'timeout', message }, 'up\n'])
  assert.deepEqual(await processesWith(tag), [])
})

test('a command has half a second to end in an orderly way before it is killed', async () => {
  const graces: number[] = []
  const ended = Promise.withResolvers<CommandEnd>()
  const tool = bashTool({}, '/bin/sh', async () => ({
    ...{ output: new PassThrough(), channel: undefined, ended: ended.promise },
    terminate: async (graceMs) => void graces.push(graceMs),
    [Symbol.asyncDispose]: async () => {},
  }))
  const { run } = await tool.plan('/', { command: 'sleep 100' })
  const call = run({ signal: AbortSignal.abort(new DOMException('', 'TimeoutError')), progress() {} } as ToolContext)
  await assert.rejects(call, { kind: 'timeout' })
  assert.deepEqual(graces, [500])
})

test('when a command ends, everything that it left running is ended', linux, async () => {
  await using catalog = await openCatalog()
  const tag = longSleep()
  const left = [
    `sleep ${tag} &`,
    `nohup sleep ${tag} >/dev/null 2>&1 &`,
    `setsid sleep ${tag} >/dev/null 2>&1 &`,
    `(setsid sh -c 'trap "" TERM HUP; sleep ${tag}; sleep ${tag}' &)`,
    `(trap '' TERM; sleep ${tag}) & disown -a`,
  ]
  const { text } = await runTool(catalog, 'bash', { command: `${left.join('\n')}\nsleep 0.2\necho over` })
  assert.equal(text, 'over')
  assert.deepEqual(await processesWith(tag), [])
})

test('a call ends when its supervisor is killed', linux, async () => {
  await using catalog = await openCatalog()
  const tag = longSleep()
  const command = `sleep ${tag} & kill -9 $PPID; sleep ${tag}`
  const { failure } = await runTool(catalog, 'bash', { command })
  assert.equal(failure?.type, 'supervision_lost')
  assert.deepEqual(await processesWith(tag), [])
})

test('closing the service ends the commands that run', async () => {
  const tag = longSleep()
  const catalog = await openCatalog()
  const running = assert.rejects(runTool(catalog, 'bash', { command: `sleep ${tag}` }))
  await waitFor('the command', async () => (await processesWith(tag)).length > 0)
  await catalog[Symbol.asyncDispose]()
  assert.deepEqual(await processesWith(tag), [])
  await running
})

test('no process of a call survives when the server is killed with SIGKILL', linux, async () => {
  await using catalog = await openCatalog()
  const tag = longSleep()
  const command = `sleep ${tag} & nohup sleep ${tag} & setsid sleep ${tag} & trap '' TERM HUP; echo up; sleep ${tag}; sleep ${tag}`
  const module = fileURLToPath(import.meta.resolve('#test/support/catalog.ts'))
  const script = join(catalog.outside, 'server/server.ts')
  await mkdir(join(catalog.outside, 'server'))
  await writeFile(
    script,
    `import { openCatalog, asOperator } from ${JSON.stringify(module)}
     const catalog = await openCatalog()
     const grant = [{ action: 'bash', resources: [process.argv[2]] }]
     const call = { sessionId: 's', callId: 'c', fence: 1n, name: 'bash', input: { command: process.argv[2] }, grant }
     for await (const { event } of catalog.client.runTool(call, asOperator)) console.log(event.case, catalog.project)`,
  )
  // What the server cannot remove any more is removed with the folder of this test.
  const env = { ...process.env, TMPDIR: catalog.outside }
  const server = spawn(process.execPath, [script, command], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface(server.stdout), 'line')
  assert.match(String(line), /^progressed /)
  // The command line of the server contains the command as well.
  assert.ok((await processesWith(tag)).filter((pid) => pid !== server.pid).length >= 4)
  server.kill('SIGKILL')
  await once(server, 'exit')
  await waitFor('the end of all', async () => (await processesWith(tag)).length === 0)
})

test('at most 32 of many concurrent commands run at a time, and all run', async () => {
  await using catalog = await openCatalog()
  const command = 'mkdir r$$ && ls | grep -c ^r > n$$; while [ ! -e go ]; do sleep 0.05; done; rmdir r$$'
  const running = async () => (await readdir(catalog.project)).filter((name) => name.startsWith('r')).length
  const calls = Array.from({ length: 40 }, () => runTool(catalog, 'bash', { command }))
  await waitFor('32 commands run', async () => (await running()) >= 32)
  await writeFile(join(catalog.project, 'go'), '')
  assert.deepEqual(new Set((await Promise.all(calls)).map(({ text }) => text)), new Set(['(no output)']))
  const counted = (await readdir(catalog.project)).filter((name) => name.startsWith('n'))
  const counts = await Promise.all(counted.map(async (name) => Number(await readFile(join(catalog.project, name)))))
  assert.equal(counts.length, 40)
  assert.ok(Math.max(...counts) <= 32, String(counts))
})
