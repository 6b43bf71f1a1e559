import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileText } from '#test/support/containers.ts'
import type { WireMessage } from '#test/support/instance-client.ts'
import { type Process, runToEnd, scratchDirectory, startProcess } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'

const KEYS = {
  PORTICO_BOOTSTRAP_MANAGEMENT_KEY: 'mk-portico-of-the-readme',
  PORTICO_BOOTSTRAP_API_KEY: 'sk-portico-of-the-readme',
}
const noCurl = spawnSync('curl', ['--version']).status === 0 ? false : 'no curl on this machine'

describe('the lines of README work when pasted, every time', { skip: noCurl }, () => {
  const data = scratchDirectory()
  const project = scratchDirectory()
  const home = scratchDirectory()
  let server: Process

  before(async () => {
    writeFileSync(join(project.path, 'README.md'), '# Lighthouse\n')
    const environment = { PORTICO_PORT: '0', PORTICO_DATA_DIR: data.path, HOME: home.path, ...KEYS }
    server = await startProcess('main.ts', environment, [project.path])
  })
  after(async () => {
    await server?.stop()
    for (const folder of [data, project, home]) folder[Symbol.dispose]()
  })

  /** The commands of a shell block below a heading; each may span several lines. */
  const commandsBelow = (heading: string, place = 0): string[] => {
    const [, below = ''] = fileText('README.md').split(`\n## ${heading}\n`)
    const block = [...below.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)][place]?.[1] ?? ''
    const text = block.replaceAll('http://127.0.0.1:4096', server.url).replaceAll(/^ {2}/gm, '')
    return text.trimEnd().split(/\n(?=curl |export )/)
  }

  /** Runs commands in a shell in which S names a session; returns what each of them prints. */
  const paste = async (session: string, commands: readonly string[]): Promise<string[]> => {
    const script = commands.map((command) => `${command}\nprintf '\\036'`).join('\n')
    const { code, stdout, stderr } = await runToEnd('sh', ['-e', '-c', script], { S: session, HOME: home.path })
    assert.deepEqual([code, stderr], [0, ''], script)
    return stdout.split('\x1e').slice(0, -1)
  }

  /** Pastes a command that lists something until what was configured just now is at work there. */
  const pasteUntil = async (command: string, listed: RegExp): Promise<void> => {
    let printed = ''
    const isListed = async () => {
      ;[printed = ''] = await paste('', [command])
      return listed.test(printed)
    }
    await waitFor(`${command} to print ${listed}`, isListed, () => printed)
  }

  const newSession = async (command: string): Promise<string> => {
    const [session = ''] = await paste('', [`${command}\nprintf %s "$S"`])
    assert.match(session, /^ses_[a-z]+\d+$/)
    return session
  }

  test('the tour', async () => {
    const [name = '', ...commands] = commandsBelow('Five minutes')
    const printed = await paste(await newSession(name), commands)
    const { data } = JSON.parse(printed.at(-1) ?? '') as { data: WireMessage[] }
    assert.equal(data.at(-1)?.outcome, 'succeeded')
    const [, shown = 'nothing'] = /"text":"(The directory \w+ )/.exec(fileText('README.md')) ?? []
    assert.ok(printed.at(-1)?.includes(shown), shown)
    assert.match(JSON.stringify(data), /Lighthouse/)
  })

  test('a plugin of ten lines: it is active, and its tool answers', async () => {
    const [copy = '', list = '', name = '', ...commands] = commandsBelow('Five minutes', 1)
    await paste('', [copy])
    await pasteUntil(list, /"id":"greeter".*"state":\{"status":"active"\}/)
    assert.match((await paste(await newSession(name), commands)).at(-1) ?? '', /Hello, Ada!/)
  })

  test('an MCP server: it is connected, and its tool answers; its session goes to another server', async () => {
    const [write = '', list = '', name = '', ...commands] = commandsBelow('Five minutes', 2)
    await paste('', [write])
    await pasteUntil(list, /\{"name":"files","status":"connected","tools":\d+\}/)
    const session = await newSession(name)
    assert.match((await paste(session, commands)).at(-1) ?? '', /\[FILE\] architecture\.md/)
    assert.match((await paste(session, commandsBelow('Five minutes', 3))).at(-1) ?? '', /^\{"data":\{"id":"ses_mcp/)
  })

  test('compaction: by itself, and on request', async () => {
    const [name = '', ...commands] = commandsBelow('Five minutes', 4)
    const printed = await paste(await newSession(name), commands)
    const contexts = printed.filter((text) => text.startsWith('{"data":[{')).map((text) => JSON.parse(text))
    assert.deepEqual(
      contexts.map(({ data: [{ type, reason, status }] }) => [type, reason, status]),
      [
        ['compaction', 'auto', 'completed'],
        ['compaction', 'manual', 'completed'],
      ],
    )
  })

  test('subagents: the child session is found, and has looked around', async () => {
    const [name = '', ...commands] = commandsBelow('Subagents')
    const printed = await paste(await newSession(name), commands)
    assert.match(printed[3] ?? '', /"metadata":\{"sessionID":"ses_/)
    assert.match(printed.at(-1) ?? '', /Lighthouse/)
  })

  test('skills: one is listed, and the model reads it', async () => {
    const [name = '', ...commands] = commandsBelow('Skills')
    const printed = await paste(await newSession(name), commands)
    assert.match(printed[1] ?? '', /"id":"greet","name":"greet","description":"How we greet"/)
    assert.match(printed.at(-1) ?? '', /Say ahoy\./)
  })

  test('keys with limits: what a key used is shown to it, and what all used to the manager', async () => {
    const script = commandsBelow('Keys with limits').join('\n')
    const env = { PORTICO_DATA_DIR: data.path, PORTICO_MANAGEMENT_KEY: KEYS.PORTICO_BOOTSTRAP_MANAGEMENT_KEY }
    const { code, stdout } = await runToEnd('sh', ['-e', '-c', script], env)
    assert.equal(code, 0, stdout)
    assert.doesNotMatch(stdout, /"error":\{/)
    const answers = [
      '"key":"sk-portico-',
      '"slug":"brief"',
      '"total_cost":',
      '"limit_remaining":5',
      '"total_credits":0',
    ]
    for (const part of [...answers, '"model_permaslug":"portico/echo"']) assert.ok(stdout.includes(part), part)
  })

  test('workloads without a key: a token of their own is exchanged, and refused once its key is disabled', async () => {
    const script = commandsBelow('Workloads without a key').join('\n')
    const env = { PORTICO_DATA_DIR: data.path, PORTICO_MANAGEMENT_KEY: KEYS.PORTICO_BOOTSTRAP_MANAGEMENT_KEY }
    const { code, stdout } = await runToEnd('sh', ['-e', '-c', `${script}\nrm -r $DIR`], env)
    assert.equal(code, 0, stdout)
    const [response = '', refusal = ''] = stdout.split('}{')
    assert.match(response, /"object":"response"/)
    assert.match(refusal, /"code":401/)
  })

  test('the session that asks before each command: there is a request, and the reply lets it run', async () => {
    const [name = '', ...commands] = commandsBelow('Safety')
    const printed = await paste(await newSession(name), commands)
    const { data } = JSON.parse(printed.at(-1) ?? '') as { data: WireMessage[] }
    assert.equal(data.at(-1)?.outcome, 'succeeded')
    assert.ok(JSON.stringify(data).includes(project.path), 'the command ran in the project')
  })
})
