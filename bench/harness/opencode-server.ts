import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { opencodeEnvironment } from './opencode-install.ts'
import { ticks } from './process-usage.ts'
import { printedUrl } from './server.ts'

const TICK_US = 10_000

/** `opencode serve`. */
export interface OpencodeServer extends AsyncDisposable {
  readonly url: string
  readonly process: ChildProcess
  /** CPU time used so far, in microseconds, by all threads and child processes. */
  cpu(): number
}

/** Starts it in a project of its own, with its files in the folder. */
export async function startOpencode(binary: string, folder: string): Promise<OpencodeServer> {
  const cwd = join(folder, 'project')
  await mkdir(cwd)
  const words = ['serve', '--hostname', '127.0.0.1', '--port', '0']
  const child = spawn(binary, words, { cwd, env: opencodeEnvironment(folder), stdio: ['ignore', 'pipe', 'ignore'] })
  // Even if this process ends early.
  process.once('exit', () => child.kill())
  return {
    url: await printedUrl(child, binary),
    process: child,
    cpu: () => ticks(child.pid ?? 0) * TICK_US,
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit')
      if (child.exitCode === null && child.signalCode === null && child.kill()) await exit
    },
  }
}
