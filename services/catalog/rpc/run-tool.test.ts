import assert from 'node:assert/strict'
import { readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Code, ConnectError } from '@connectrpc/connect'
import {
  asOperator,
  type CatalogFixture,
  catalogTest,
  longSleep,
  processesWith,
  rejection,
  runTool,
  writeFiles,
} from '#test/support/catalog.ts'
import { PRINTING } from '#test/support/printing.ts'
import { waitFor } from '#test/support/wait-until.ts'

type Request = Parameters<CatalogFixture['client']['runTool']>[0]

async function consume(catalog: CatalogFixture, request: Request): Promise<string[]> {
  const events: string[] = []
  const whole = { sessionId: 'ses_1', callId: 'call_1', fence: 1n, ...request }
  for await (const { event } of catalog.client.runTool(whole, asOperator)) events.push(event.case ?? '')
  return events
}

const echo = (text: string, fence = 1n, callId = 'call_1'): Request => ({
  name: 'bash',
  input: { command: `echo ${text} >> log` },
  grant: [{ action: 'bash', resources: [`echo ${text} >> log`] }],
  fence,
  callId,
})

catalogTest('runs a call once: a second time it is TOOL_CALL_STARTED, at once or later', async (catalog) => {
  const results = await Promise.allSettled([consume(catalog, echo('a')), consume(catalog, echo('a'))])
  assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  await assert.rejects(consume(catalog, echo('a')), rejection('TOOL_CALL_STARTED', { call_id: 'call_1' }))
  assert.equal(await readFile(join(catalog.project, 'log'), 'utf8'), 'a\n')
})

catalogTest('refuses an older fence than the newest known one as TOOL_FENCED', async (catalog) => {
  assert.deepEqual(await consume(catalog, echo('a', 2n)), ['completed'])
  await assert.rejects(consume(catalog, echo('b', 1n, 'call_2')), rejection('TOOL_FENCED'))
  await catalog.client.endTools({ sessionId: 'ses_1', fence: 3n }, asOperator)
  await assert.rejects(consume(catalog, echo('b', 2n, 'call_2')), rejection('TOOL_FENCED'))
  assert.deepEqual(await consume(catalog, { ...echo('b', 1n), sessionId: 'ses_2' }), ['completed'])
  assert.equal(await readFile(join(catalog.project, 'log'), 'utf8'), 'a\nb\n')
})

catalogTest(
  'a call that would touch something else than it has permission for is TOOL_ACCESS_CHANGED, and starts nothing',
  async (catalog) => {
    await writeFiles(catalog.project, { plain: 'plain', secret: 'secret' })
    await symlink('plain', join(catalog.project, 'link'))
    const { accesses } = await catalog.client.prepareTool({ name: 'read', input: { path: 'link' } }, asOperator)
    const request = { name: 'read', input: { path: 'link' }, grant: accesses }
    await rm(join(catalog.project, 'link'))
    await symlink('secret', join(catalog.project, 'link'))
    await assert.rejects(consume(catalog, request), rejection('TOOL_ACCESS_CHANGED'))
    await assert.rejects(consume(catalog, { ...request, grant: [] }), rejection('TOOL_ACCESS_CHANGED'))
    await rm(join(catalog.project, 'link'))
    await symlink('plain', join(catalog.project, 'link'))
    assert.deepEqual(await consume(catalog, request), ['completed'], 'the call was not started, so it may be')
  },
)

catalogTest('no grant gives access to files outside of the location', async (catalog) => {
  await writeFiles(catalog.outside, { secret: 'secret' })
  await symlink(catalog.outside, join(catalog.project, 'door'))
  await symlink(join(catalog.outside, 'new'), join(catalog.project, 'dangling'))
  const cases = [
    ['read', { path: '../outside/secret' }],
    ['read', { path: 'door/secret' }],
    ['list', { path: '..' }],
    ['list', { path: 'door' }],
    ['glob', { pattern: '**', path: '../outside' }],
    ['grep', { pattern: 'secret', path: 'door' }],
    ['write', { path: 'door/new', content: 'x' }],
    ['write', { path: 'dangling', content: 'x' }],
    ['edit', { path: 'door/secret', old_string: 'secret', new_string: 'x' }],
  ] as const
  for (const [name, input] of cases) {
    const { failure, text } = await runTool(catalog, name, input)
    assert.equal(failure?.type, 'outside_location', `${name} ${JSON.stringify(input)}`)
    assert.equal(text, '')
  }
  const search = await runTool(catalog, 'grep', { pattern: 'secret' })
  assert.equal(search.text, '(no line matches)', 'a walk follows no link')
  assert.equal(await readFile(join(catalog.outside, 'secret'), 'utf8'), 'secret')
  await assert.rejects(readFile(join(catalog.outside, 'new')), { code: 'ENOENT' })
})

catalogTest('a command reports its progress, and finally its exit code', async (catalog) => {
  const { text, metadata, progress } = await runTool(catalog, 'bash', {
    command: 'echo first; echo wrong >&2; sleep 0.6; echo second; exit 3',
  })
  assert.equal(text, 'first\nwrong\nsecond\n(exit code 3)')
  assert.deepEqual(metadata, { exit_code: 3, bytes: 19, truncated: false })
  assert.deepEqual(progress[0], { output: 'first\nwrong\n', bytes: 12 })
})

catalogTest('aborting the stream ends all that the call started', async (catalog) => {
  const tag = longSleep()
  const controller = new AbortController()
  const command = `setsid sleep ${tag} & nohup sleep ${tag} & (sleep ${tag} &) ; echo up; sleep ${tag}`
  const call = { sessionId: 'ses_1', callId: 'call_1', fence: 1n, name: 'bash', input: { command } }
  const stream = catalog.client.runTool(
    { ...call, grant: [{ action: 'bash', resources: [command] }] },
    { ...asOperator, signal: controller.signal },
  )
  await assert.rejects(
    async () => {
      for await (const { event } of stream) if (event.case === 'progressed') controller.abort()
    },
    (error) => error instanceof ConnectError && error.code === Code.Canceled,
  )
  // Returns when nothing of the call is left.
  await catalog.client.endTools({ sessionId: 'ses_1', fence: 2n }, asOperator)
  assert.deepEqual(await processesWith(tag), [])
})

for (const [how, command] of Object.entries(PRINTING)) {
  catalogTest(`a call that prints ${how} is ended, and other calls are answered meanwhile`, async (catalog) => {
    const controller = new AbortController()
    const grant = [{ action: 'bash', resources: [command] }]
    const call = { sessionId: 'ses_1', callId: 'call_1', fence: 1n, name: 'bash', input: { command }, grant }
    const stream = catalog.client.runTool(call, { ...asOperator, signal: controller.signal })
    await assert.rejects(
      async () => {
        for await (const { event } of stream) if (event.case === 'progressed') controller.abort()
      },
      (error) => error instanceof ConnectError && error.code === Code.Canceled,
    )
    let ended = false
    const ending = catalog.client.endTools({ sessionId: 'ses_1', fence: 2n }, asOperator).finally(() => {
      ended = true
    })
    while (!ended) {
      assert.ok((await catalog.client.listAgents({}, { ...asOperator, timeoutMs: 120_000 })).agents.length > 0)
      await delay(5)
    }
    await ending
  })
}

catalogTest('a reader that stops reading does not stop the work', async (catalog) => {
  const request = { sessionId: 'ses_1', callId: 'call_1', fence: 1n, name: 'bash' }
  const command = 'echo a; sleep 0.4; echo b; sleep 0.4; echo c; sleep 0.1; touch done'
  const grant = [{ action: 'bash', resources: [command] }]
  const stream = catalog.client.runTool({ ...request, input: { command }, grant }, asOperator)
  const iterator = stream[Symbol.asyncIterator]()
  await iterator.next()
  const path = join(catalog.project, 'done')
  const exists = () =>
    readFile(path).then(
      () => true,
      () => false,
    )
  await waitFor('the end of the work', exists)
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next());
})

catalogTest('a call that names no session or call, or no fence, is REQUEST_INVALID', async (catalog) => {
  const cases = [
    [{ sessionId: '' }, 'session_id', 'must not be empty'],
    [{ callId: '' }, 'call_id', 'must not be empty'],
    [{ fence: 0n }, 'fence', 'must be at least 1'],
  ] as const
  for (const [part, field, problem] of cases) {
    await assert.rejects(consume(catalog, { ...echo('a'), ...part }), rejection('REQUEST_INVALID', { field, problem }))
  }
})

catalogTest('an impossible call is rejected before anything starts, and its id stays free', async (catalog) => {
  await assert.rejects(consume(catalog, { name: 'none' }), rejection('TOOL_NOT_FOUND', { name: 'none' }))
  const problem = "the input must have required property 'command'"
  await assert.rejects(consume(catalog, { name: 'bash' }), rejection('TOOL_INPUT_INVALID', { name: 'bash', problem }))
  assert.deepEqual(await consume(catalog, echo('a')), ['completed'])
})
