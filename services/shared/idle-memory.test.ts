import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'

const module = new URL('idle-memory.ts', import.meta.url).href

test('a process that has nothing to do gives back what it used when it was busy, and is not kept alive for that', async () => {
  const program = `import { giveBackIdleMemory } from ${JSON.stringify(module)}
    giveBackIdleMemory(200)
    const fill = () => { let all = []; for (let i = 0; i < 3_000_000; i++) all.push({ i }); return all.length }
    fill()
    const peak = process.memoryUsage.rss()
    if (typeof gc !== 'undefined') throw new Error('gc is for nobody else')
    const look = setInterval(() => {
      if (process.memoryUsage.rss() > peak - 100_000_000) return
      console.log('back')
      clearInterval(look)
    }, 100)`
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
})
