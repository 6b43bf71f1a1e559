// The cost of a start: CPU time, of all threads, until the first response, with the stores and caches of an earlier
// start. Trees are measured alternately. Linux only. Usage: start.ts [--rounds N] [TREE …]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startWords } from './harness/start-words.ts'

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '12' } },
  allowPositionals: true,
})
const own = join(import.meta.dirname, '..')
const trees = positionals.length === 0 ? [own] : positionals.map((tree) => resolve(tree))
/** Of /proc/PID/stat; the same on every Linux that Node supports. */
const MILLISECONDS_PER_TICK = 10

interface Start {
  readonly cpuMs: number
  readonly wallMs: number
  readonly megabytes: number
}

const folder = await mkdtemp(join(tmpdir(), 'portico-start-'))
try {
  const starts = new Map<string, Start[]>(trees.map((tree) => [tree, []]))
  for (let round = -2; round < Number(values.rounds); round++) {
    for (const [i, tree] of trees.entries()) {
      const start = await measureStart(tree, join(folder, String(i)))
      // The first starts create the stores and fill the cache.
      if (round >= 0) starts.get(tree)?.push(start)
    }
  }
  const [first] = starts.values()
  for (const [tree, of] of starts) {
    const ratio = medianOf(of, 'cpuMs') / medianOf(first ?? of, 'cpuMs')
    const figures = [
      `${medianOf(of, 'cpuMs')} ms of CPU`,
      `${medianOf(of, 'wallMs')} ms`,
      `${medianOf(of, 'megabytes')} MB`,
    ]
    process.stdout.write(`${tree}: ${figures.join(', ')}, ratio ${ratio.toFixed(2)}\n`)
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** Starts a tree like its `npm start`, sends one request, and ends it. */
async function measureStart(tree: string, data: string): Promise<Start> {
  await mkdir(join(data, 'project'), { recursive: true })
  const env = { PATH: process.env.PATH, HOME: data, PORTICO_PORT: '0', PORTICO_DATA_DIR: join(data, 'data') }
  const began = performance.now()
  const child = spawn(process.execPath, [...startWords(tree), join(data, 'project')], {
    cwd: tree,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  const url = await new Promise<string>((found, failed) => {
    child.once('exit', (code) => failed(new Error(`${tree} ended with ${code}`)))
    child.stdout.on('data', (chunk) => {
      printed += chunk
      const [, text] = /listening on (http:\S+)/.exec(printed) ?? []
      if (text !== undefined) found(text)
    })
  })
  const answer = await fetch(`${url}/api/session`)
  await answer.arrayBuffer()
  const start = {
    cpuMs: cpuOf(child.pid ?? 0),
    wallMs: performance.now() - began,
    megabytes: megabytesOf(child.pid ?? 0),
  }
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
  return start
}

function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MILLISECONDS_PER_TICK
}

function megabytesOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

function medianOf(starts: readonly Start[], member: keyof Start): number {
  return Math.round(median(starts.map((start) => start[member])))
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}
