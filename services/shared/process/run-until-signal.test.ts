import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

const module = new URL('run-until-signal.ts', import.meta.url).href

/** A process whose `start` is the given code. */
function run(start: string, shutdownMs = 5_000) {
  const code = `import { runUntilSignal } from ${JSON.stringify(module)}
    const say = (text) => console.log(text)
    await runUntilSignal(async (resources) => { ${start} }, { shutdownMs: ${shutdownMs} })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (data) => {
    output += data
  })
  child.stderr.on('data', (data) => {
    output += data
  })
  return { child, output: () => output, ended: once(child, 'close') as Promise<[number | null, string | null]> }
}

/** Resolves when the process has printed something; fails if it ends without output. */
async function said({ child, output, ended }: ReturnType<typeof run>): Promise<void> {
  const early = ended.then(() => assert.ok(output() !== '', 'it ended without a word'))
  await Promise.race([once(child.stdout, 'data'), early])
}

const ALIVE = 'setInterval(() => {}, 1000);'

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} releases everything in reverse order, then the process ends with code 0`, async () => {
    const process = run(`${ALIVE}
      resources.defer(async () => say('first')); resources.defer(async () => say('second')); say('up')`)
    await said(process)
    process.child.kill(signal)
    assert.deepEqual(await process.ended, [0, null])
    assert.equal(process.output(), 'up\nsecond\nfirst\n')
  })
}

test('signals that come together count as one: npm repeats the terminal’s', async () => {
  const process = run(`${ALIVE} resources.defer(() => new Promise((done) => setTimeout(done, 100))); say('up')`)
  await said(process)
  process.child.kill('SIGINT')
  process.child.kill('SIGTERM')
  assert.deepEqual(await process.ended, [0, null])
})

test('a second signal, somewhat later, ends the process at once', async () => {
  const process = run(`${ALIVE} resources.defer(() => { say('releasing'); return new Promise(() => {}) }); say('up')`)
  await said(process)
  process.child.kill('SIGINT')
  await said(process)
  await sleep(600)
  process.child.kill('SIGINT')
  assert.deepEqual(await process.ended, [130, null])
})

test('disposal that does not end is cut off and reported', async () => {
  const process = run(`${ALIVE} resources.defer(() => new Promise(() => {})); say('up')`, 50)
  await said(process)
  process.child.kill('SIGTERM')
  assert.deepEqual(await process.ended, [1, null])
  assert.match(process.output(), /Not everything ended within 50 ms/)
})

test('a failed start releases what there is and ends with code 1', async () => {
  const process = run(`${ALIVE} resources.defer(async () => say('released')); throw new Error('port in use')`)
  assert.deepEqual(await process.ended, [1, null])
  assert.match(process.output(), /port in use[\s\S]*released/)
})
