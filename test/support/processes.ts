import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { waitFor } from '#test/support/wait-until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Keys of every product started here; at least 16 characters each. */
export const KEYS = { api: 'sk-portico-test-0123456789', management: 'mk-portico-test-0123456789' }

/** A process of the product, started as its users start it. */
export interface Process {
  readonly child: ChildProcess
  /** Where it listens. */
  readonly url: string
  /** All it has printed. */
  output(): string
  /** From now on it is paused without knowing, until it is resumed. */
  pause(): void
  /** Resumes it. */
  resume(): void
  /** Ends it like Ctrl-C; returns its exit code. */
  stop(): Promise<number | null>
  /** Ends it like a power cut. */
  kill(): Promise<void>
}

/** How a process ended that was to end by itself. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** A folder that is removed after the test. */
export function scratchDirectory(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'portico-e2e-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) }
}

/**
 * Starts an entry file and waits until it prints where it listens; rejects with its output if it ends before. A stop
 * closes its port at once, unless the environment says otherwise.
 */
export async function startProcess(
  entry: string,
  environment: Readonly<Record<string, string>>,
  words: readonly string[] = [],
): Promise<Process> {
  const child = spawn(process.execPath, ['--disable-sigusr1', join(ROOT, entry), ...words], {
    cwd: ROOT,
    env: { ...process.env, PORTICO_LOG_LEVEL: 'info', PORTICO_UNREADY_SECONDS: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const exited = once(child, 'exit')
  exited.then(() => running.delete(child))
  const closed = once(child, 'close')
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString()
      const found = /listening.*?(https?:\/\/[^\s"/]+)/i.exec(output) ?? /"url":"(https?:\/\/[^"/]+)"/.exec(output)
      if (found?.[1] !== undefined) resolve(found[1])
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    exited.then(([code]) => reject(new Error(`${entry} ended with ${code}:\n${output}`)))
  })
  // A test that fails before it stops the process must not keep its file from ending.
  const handles = [child, child.stdout as Socket, child.stderr as Socket]
  for (const handle of handles) handle.unref()
  running.add(child)
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    for (const handle of handles) handle.ref()
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal)
      await exited
    }
  }
  return {
    child,
    url,
    output: () => output,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    stop: async () => {
      await end('SIGINT')
      // Its last lines may still be on their way.
      await closed
      return child.exitCode
    },
    kill: () => end('SIGKILL'),
  }
}

/** Runs a command, or an entry file with Node, to its end. */
export async function runToEnd(
  command: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const node = [process.execPath, '--disable-sigusr1', join(ROOT, command)] as const
  const [file, ...before] = command.endsWith('.ts') ? node : [command]
  const all = [...before, ...words]
  const env = { ...process.env, ...environment }
  const child = spawn(file, all, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

/**
 * Waits until no process has the marker in its command line or environment; the supervisors of a killed server need a
 * moment.
 */
export async function noneAlive(marker: string): Promise<void> {
  const alive = () => processesWith(marker)
  await waitFor('the processes of tools to end', () => alive().length === 0, alive)
}

/** Kills a process, unless it has ended since it was found. */
export function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** The processes that have a text in their command line or environment. */
export function processesWith(text: string): { readonly pid: number; readonly words: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [words = '', environment = ''] = ['cmdline', 'environ'].map((file) =>
          readFileSync(`/proc/${name}/${file}`, 'utf8').replaceAll('\0', ' '),
        )
        return words.includes(text) || environment.includes(text) ? [{ pid: Number(name), words }] : []
      } catch {
        return []
      }
    })
}
