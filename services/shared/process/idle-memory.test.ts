import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'

const module = new URL('idle-memory.ts', import.meta.url).href

/** Runs code that uses `fill`, which makes much garbage, and `back`, which resolves when the memory was given back. */
async function run(lines: string): Promise<void> {
  const program = `import { giveBackIdleMemory } from ${JSON.stringify(module)}
    import { setTimeout as sleep } from 'node:timers/promises'
    giveBackIdleMemory(200)
    const fill = (count) => { const all = []; for (let i = 0; i < count; i++) all.push({ i }); return all }
    const back = async (peak) => { while (process.memoryUsage.rss() > peak - 100_000_000) await sleep(100) }
    if (typeof gc !== 'undefined') throw new Error('gc is for nobody else')
    ${lines}
    console.log('back')`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk
    })
  }
  assert.deepEqual(await once(child, 'close'), [0, null], output)
  assert.match(output, /back/)
}

test('a process that has nothing to do gives back what it used when it was busy, and is not kept alive for that', () =>
  run(`fill(3_000_000)
    await back(process.memoryUsage.rss())`))

test('it does so every time, and never all at once', () =>
  run(`import { constants, PerformanceObserver } from 'node:perf_hooks'
    const { NODE_PERFORMANCE_GC_MAJOR: MAJOR, NODE_PERFORMANCE_GC_FLAGS_FORCED: FORCED } = constants
    let [forced, major, begun] = [0, 0, 0]
    new PerformanceObserver((list) => {
      for (const { detail: { kind, flags } } of list.getEntries()) {
        const isForced = (flags & FORCED) !== 0
        if (isForced && kind === MAJOR) throw new Error('all at once')
        if (isForced) [forced, begun] = [forced + 1, major]
        if (kind === MAJOR) major++
      }
    }).observe({ entryTypes: ['gc'] })
    const collected = async (count) => { while (forced < count || major === begun) await sleep(50) }
    const used = fill(6_000_000)
    await collected(1)
    fill(3_000_000)
    await collected(2)
    if (used.length === 0) throw new Error('it was used')`))
