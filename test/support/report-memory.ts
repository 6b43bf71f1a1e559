// Preloaded into a server under a long test: after SIGUSR2 it prints, as one line of JSON, how much its main thread
// holds.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  process.on('SIGUSR2', () => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    const handles: Record<string, number> = {}
    for (const name of process.getActiveResourcesInfo()) handles[name] = (handles[name] ?? 0) + 1
    process.stderr.write(`${JSON.stringify({ held: { heapUsed, external, handles } })}\n`)
  })
}
