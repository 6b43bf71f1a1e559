import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startFlags } from './start-words.ts'

/** How to start a server that is measured: a file that Node runs, and its environment. */
export interface ServerCommand {
  readonly file: string
  readonly words?: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Module, as a URL, that is loaded before the file. */
  readonly preload?: string
  /** The work tree to run; default: this one. */
  readonly tree?: string | undefined
  /** Folder for a CPU profile, written when the server ends. */
  readonly profile?: string | undefined
}

/** A server in a process of its own. */
export interface BenchServer extends AsyncDisposable {
  readonly url: string
  readonly process: ChildProcess
  /** CPU time used so far, in microseconds: user and system, all threads, without child processes. */
  cpu(): Promise<number>
  /**
   * The longest time that the main thread worked without a turn of the event loop while this ran, in milliseconds of
   * CPU time.
   */
  heldDuring(run: () => Promise<unknown>): Promise<number>
}

const here = fileURLToPath(new URL('../../', import.meta.url))
const probe = new URL('./probe.ts', import.meta.url).href
const START_MS = 30_000

/** Starts a server and waits until it has printed its URL. Of this machine's environment, it only gets PATH. */
export async function startServer({
  file,
  words = [],
  env,
  preload,
  tree = here,
  profile,
}: ServerCommand): Promise<BenchServer> {
  const preloads = [probe, ...(preload === undefined ? [] : [preload])].flatMap((url) => ['--import', url])
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const child = spawn(process.execPath, [...startFlags(tree), ...preloads, ...profiling, file, ...words], {
    cwd: tree,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  return {
    url: await printedUrl(child, file),
    process: child,
    cpu: () => ask(child, 'cpu', 'cpu'),
    async heldDuring(run) {
      await ask(child, 'hold', 'hold')
      await run()
      return ask(child, 'held', 'held')
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    },
  }
}

/** Queries the probe; other messages of the server to its parent are ignored. */
async function ask(child: ChildProcess, question: string, member: string): Promise<number> {
  child.send(question)
  for (;;) {
    const [message] = (await once(child, 'message')) as [Readonly<Record<string, number>>]
    const answer = message[member]
    if (answer !== undefined) return answer
  }
}

/** Waits until a server has printed its URL. */
export function printedUrl(child: ChildProcess, file: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const late = setTimeout(() => reject(new Error(`${file} printed no URL within ${START_MS} ms`)), START_MS)
  let printed = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    printed += text
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0]
    if (url !== undefined) resolve(url)
  })
  child.once('exit', (code) => reject(new Error(`${file} ended with code ${code}:\n${printed}`)))
  return promise.finally(() => clearTimeout(late))
}
