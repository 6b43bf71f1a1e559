import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from '#test/support/wait-until.ts'

const watchdog = new URL('watchdog.ts', import.meta.url).href

/** A process with a watchdog that prints `up` and then runs this code. */
function run(
  limitMs: number,
  code: string,
  flags: readonly string[] = [],
  before: readonly string[] = [],
  opening = '',
) {
  const program = `import { startWatchdog } from ${JSON.stringify(watchdog)}
    const logger = { error: (_, text) => process.stdout.write(text + '\\n') }
    const watchdog = startWatchdog({ limitMs: ${limitMs}, service: 'session', logger, stackMs: 120_000 })
    ${opening}
    watchdog.opened()
    process.on('SIGTERM', () => {})
    process.stdout.write('up\\n')
    ${code}`
  const [file = '', ...words] = [...before, process.execPath, ...flags, '--input-type=module', '--eval', program]
  const child = spawn(file, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const up = once(child.stdout, 'data')
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  return { child, up, ended, output: () => output }
}

const SPINS = {
  'a loop': 'setTimeout(() => { for (;;); }, 50)',
  'microtasks alone': 'setTimeout(async () => { for (;;) await null }, 50)',
  'a race that somebody won long ago': `setTimeout(async () => {
    const [done, never] = [Promise.resolve(), new Promise(() => {})]
    for (;;) await Promise.race([done, never])
  }, 50)`,
  'process.nextTick': 'setTimeout(function again() { process.nextTick(again) }, 50)',
}

for (const [name, code] of Object.entries(SPINS)) {
  test(`a process that spins on ${name} is ended, with one line that says so`, async () => {
    const process = run(2_000, code)
    assert.deepEqual(await process.ended, [null, 'SIGKILL'])
    const [up, line, ...more] = process.output().trimEnd().split('\n')
    assert.deepEqual([up, more], ['up', []])
    const { level, service, pid, time, stack, msg } = JSON.parse(line ?? '') as Record<string, unknown>
    assert.deepEqual([level, service, pid], ['fatal', 'session', process.child.pid])
    assert.match(String(stack), name === 'a loop' ? /\S+ \S*\[eval1\]:\d+/ : /^\S+ \S+:\d+/)
    assert.match(String(time), /^\d{4}-\d\d-\d\dT/)
    assert.match(String(msg), /^The event loop has not turned for 2 s \(PORTICO_WATCHDOG_SECONDS\): ending .* SIGKILL/)
  })
}

const asFirst = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'] as const
const cannot = spawnSync(asFirst[0], [...asFirst.slice(1), 'true']).status !== 0 && 'cannot make a process id namespace'

test('ends the first process of a container, too, to which its own signals mean nothing', {
  skip: cannot,
}, async () => {
  const process = run(1_000, SPINS['microtasks alone'], [], asFirst)
  assert.deepEqual(await process.ended, [137, null])
  assert.match(process.output(), /^up\n\{"level":"fatal",.*"pid":1,.*\}\n$/)
})

test('a blocked output does not keep a spinning process alive', async () => {
  const code = `process.stdout.write('x'.repeat(1 << 20)); ${SPINS['a loop']}`
  const { child, up, ended } = run(500, code)
  await up
  child.stdout.pause()
  assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'])
  child.stdout.resume()
  await ended
})

test('a process that works hard and lets its event loop turn is left alone, and so is one with a debugger', async () => {
  const busy = 'const until = Date.now() + 3000; (function work() { if (Date.now() < until) setImmediate(work) })()'
  const held = 'setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000), 200)'
  const [worked, debugged] = [run(2_000, busy), run(1_000, held, ['--inspect=127.0.0.1:0'])]
  assert.deepEqual(await worked.ended, [0, null])
  assert.deepEqual(await debugged.ended, [0, null])
})

describe('a process that does nothing', { concurrency: true }, () => {
  test('time in which the process was suspended does not count, in one piece or in many', async () => {
    const process = run(1_000, "setInterval(() => process.stdout.write('.'), 20)")
    await process.up
    for (const pause of [2_500, ...Array<number>(15).fill(150)]) {
      process.child.kill('SIGSTOP')
      await sleep(pause)
      const before = process.output()
      process.child.kill('SIGCONT')
      await waitFor('its event loop to turn', () => process.output() !== before)
    }
    assert.equal(process.child.signalCode, null)
    process.child.kill('SIGKILL')
    await process.ended
    assert.match(process.output(), /^up\n\.+$/)
  })

  test('a watchdog keeps no process alive, and delays no exit', async () => {
    // Longer than any test may take.
    assert.deepEqual(await run(10_000_000, '').ended, [0, null])
    assert.deepEqual(await run(10_000_000, 'setTimeout(() => process.exit(7), 300)').ended, [7, null])
  })
})

const STAND = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);'

test('while a process opens, and only then, its event loop may block ten times as long', async () => {
  const opened = run(1_000, '', [], [], STAND)
  assert.deepEqual([await opened.ended, opened.output()], [[0, null], 'up\n'])
  const spinning = run(200, '', [], [], 'for (;;);')
  assert.deepEqual(await spinning.ended, [null, 'SIGKILL'])
  assert.match(spinning.output(), /turned for 2 s \(while it started, 10 times PORTICO_WATCHDOG_SECONDS\)/)
  const late = run(1_000, 'for (;;);', [], [], STAND)
  assert.deepEqual(await late.ended, [null, 'SIGKILL'])
  assert.match(late.output(), /turned for 1 s \(PORTICO/)
})
