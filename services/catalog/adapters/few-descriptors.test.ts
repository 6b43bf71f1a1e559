import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { longSleep, processesWith } from '#test/support/catalog.ts'

const linux = process.platform === 'linux' ? {} : { skip: 'needs /proc' }
const module = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)

/**
 * Runs `attempt(free)` in a process of its own that has zero, one, two … 40 free descriptors at that moment, and
 * returns the results. Rejects if the process ended early.
 */
async function withFew(imports: string, attempt: string): Promise<string[]> {
  const program = `
    import { closeSync, openSync, readdirSync } from 'node:fs'
    import { setTimeout as sleep } from 'node:timers/promises'
    import { tmpdir } from 'node:os'
    ${imports}
    const attempt = ${attempt}
    await attempt()
    const held = []
    const hold = () => { try { for (;;) held.push(openSync('/dev/null')) } catch {} }
    for (let free = 0; free <= 40; free++) {
      hold()
      for (let i = 0; i < free; i++) closeSync(held.pop())
      const answer = await attempt().catch((error) => error.kind ?? String(error.stack))
      // An event without a listener would end the process a little later.
      await sleep(5)
      for (const descriptor of held.splice(0)) closeSync(descriptor)
      console.log(answer)
    }`
  const words = ['-c', 'ulimit -n 120; exec "$0" "$@"', process.execPath, '--input-type=module', '--eval', program]
  const child = spawn('/bin/sh', words, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, errors] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (output += chunk))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk))
  assert.deepEqual([...(await once(child, 'close')), errors], [0, null, ''])
  return output.trimEnd().split('\n')
}

const COMMAND = `
  command.output.resume()
  await command.ended
  await command[Symbol.asyncDispose]()
  return 'done'`
const options = JSON.stringify({
  shell: '/bin/sh',
  command: 'true',
  directory: '/',
  environment: { PATH: '/usr/bin:/bin' },
})

const ATTEMPTS: Readonly<Record<string, readonly [imports: string, attempt: string, failure: string]>> = {
  'a command below supervisors': [
    `import { ReapedCommand } from ${module('commands/reaped-command.ts')}
     import { findSupervisor } from ${module('commands/find-supervisor.ts')}
     const supervisor = await findSupervisor(process.env.PATH)`,
    `async () => { const command = await ReapedCommand.start(supervisor, ${options}); ${COMMAND} }`,
    'not_started',
  ],
  'a command with a mark': [
    `import { SupervisedCommand } from ${module('commands/supervised-command.ts')}`,
    `async () => { const command = await SupervisedCommand.start(${options}, tmpdir()); ${COMMAND} }`,
    'not_started',
  ],
  'a search in a thread': [
    `import { SearchThreads } from ${module('tools/search-threads.ts')}`,
    `async () => {
      await using threads = new SearchThreads()
      await using thread = await threads.take(new AbortController().signal)
      await thread.search({ source: 'a', flags: '', limit: 1, texts: [] }, new AbortController().signal, () => {})
      return 'done'
    }`,
    'search_failed',
  ],
  'who asks what agents must not do': [
    `import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
     import { agentFiles } from ${module('definitions/agent-files.ts')}
     import { FileSource } from ${module('definitions/file-source.ts')}
     import { PermissionRule_Effect as Effect } from ${JSON.stringify(import.meta.resolve('#gen/portico/catalog/v1/catalog_pb.js'))}
     import { DirectoryWatchers } from ${module('watch/directory-watchers.ts')}
     const directory = mkdtempSync(tmpdir() + '/portico-few-')
     process.on('exit', () => rmSync(directory, { recursive: true }))
     writeFileSync(directory + '/opencode.json', '{"permissions":[{"action":"*","resource":"*","effect":"deny"}]}')
     const location = { directory, projectId: 'global', projectDirectory: directory, canonicalDirectory: directory, subpath: '' }
     const logger = { warn: () => {} }`,
    `async () => {
      const agents = new FileSource(agentFiles(directory + '/none'), { watchers: new DirectoryWatchers(), logger })
      using open = agents.open(location, () => {})
      const { value: [document] } = await open.read().catch((error) => {
        throw error.code === 'EMFILE' ? { kind: 'short' } : error
      })
      return document.permissions.at(-1).effect === Effect.DENY ? 'done' : 'forgotten'
    }`,
    'short',
  ],
}

for (const [name, [imports, attempt, failure]] of Object.entries(ATTEMPTS)) {
  test(`${name} that gets no descriptors reports it, and ends nothing else`, linux, async () => {
    const answers = await withFew(imports, attempt)
    const begins = answers.indexOf('done')
    assert.ok(begins > 0, String(answers))
    assert.deepEqual(new Set(answers), new Set([failure, 'done']))
    assert.deepEqual(answers.slice(begins), Array(answers.length - begins).fill('done'))
  })
}

test('a kill of a whole group waits for descriptors to look with', linux, async () => {
  const tag = longSleep()
  const program = `
    import { closeSync, openSync } from 'node:fs'
    import { spawn } from 'node:child_process'
    import { once } from 'node:events'
    import { killAll } from ${module('commands/process-table.ts')}
    const child = spawn('setsid', ['sleep', '${tag}'], { env: { PATH: process.env.PATH, MARK: '${tag}' }, stdio: 'ignore' })
    const held = []
    try { for (;;) held.push(openSync('/dev/null')) } catch {}
    setTimeout(() => { for (const descriptor of held) closeSync(descriptor) }, 200)
    const ended = once(child, 'exit')
    await killAll(2 ** 30, 'MARK=${tag}')
    await ended`
  const words = ['-c', 'ulimit -n 120; exec "$0" "$@"', process.execPath, '--input-type=module', '--eval', program]
  assert.deepEqual(await once(spawn('/bin/sh', words, { stdio: 'ignore' }), 'exit'), [0, null])
  assert.deepEqual(await processesWith(tag), [])
})
