import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const module = new URL('pretenuring.ts', import.meta.url).href

/**
 * What 100,000 small arrays that nobody keeps leave among the old objects, in megabytes, if the first of their kind
 * were kept for a while.
 */
function leftBehind(start: string): number {
  const program = `import { getHeapSpaceStatistics } from 'node:v8'
    import { stopPretenuring } from ${JSON.stringify(module)}
    ${start}
    const old = () => getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size / 1e6
    const make = (n) => [{ n, text: 'text ' + n }]
    const kept = []
    for (let n = 0; n < 30_000; n++) kept.push(make(n))
    kept.length = 0
    for (let n = 0; n < 100_000; n++) make(n)
    const before = old()
    for (let n = 0; n < 100_000; n++) make(n)
    console.log(old() - before)`
  // V8 judges objects when as many are young as may be, and collects old ones when there are more than initially. On a
  // busy machine, code that is optimized in the background may come too late to count.
  const flags = ['--max-semi-space-size=1', '--initial-old-space-size=500', '--no-concurrent-recompilation']
  const words = [...flags, '--input-type=module', '--eval', program]
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  assert.equal(stderr, '')
  return Number(stdout)
}

test('what is dropped immediately is not old because others of its kind were kept before', () => {
  assert.ok(leftBehind('') > 8, 'V8 no longer does this by itself: pretenuring.ts can go')
  assert.ok(leftBehind('stopPretenuring()') < 5)
})
