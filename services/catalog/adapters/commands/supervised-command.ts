import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Duplex, Readable } from 'node:stream'
import { codeOf } from '../files/paths.ts'
import { ToolError } from '../tools/tool.ts'
import {
  CHANNEL,
  CONTROL,
  type Command,
  type CommandEnd,
  type CommandOptions,
  pipeOf,
  readToEnd,
  settledWithin,
} from './command.ts'
import { type OutputPipe, openOutputPipe } from './output-pipe.ts'
import { killAll, signalGroup } from './process-table.ts'
import { startProcess } from './start-process.ts'

const SHELL = '/bin/sh'

// Waits for a line that allows it to start, from pipe 3, whose write end only the server has: without a server it never
// starts.
const GATE = 'IFS= read -r word <&3 || exit 125; exec 3<&-; exec "$0" -c "$1"'

// Runs outside of the group that it watches, and blocks on a pipe whose other end only the server has. The line `end`
// means that all is over; if the pipe ends without it, the server died, and everything of the call is killed.
const WATCHER = `
trap '' HUP INT TERM
IFS= read -r group && IFS= read -r mark || exit 0
IFS= read -r word
[ "$word" = end ] && exit 0
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  kill -s KILL -- "-$group" 2>/dev/null
  found=
  for file in /proc/[0-9]*/environ; do
    if grep -qsF "$mark" "$file"; then
      pid=\${file#/proc/}
      kill -s KILL "\${pid%/environ}" 2>/dev/null && found=1
    fi
  done
  [ -n "$found" ] || exit 0
done`

/**
 * A command for systems without subreapers (`ReapedCommand`). What it started is found by its group and, on Linux, by a
 * mark in the environment, so `&`, `nohup` and `setsid` do not hide it; only a process that left the group and cleared
 * its environment is missed.
 */
export class SupervisedCommand implements Command {
  readonly output: Readable
  readonly channel: Duplex | undefined
  readonly ended: Promise<CommandEnd>
  readonly #leader: ChildProcess
  readonly #watcher: ChildProcess
  readonly #group: number
  readonly #mark: string

  private constructor(leader: ChildProcess, watcher: ChildProcess, output: Readable, group: number, mark: string) {
    this.#leader = leader
    this.#watcher = watcher
    this.#group = group
    this.#mark = mark
    this.output = output
    this.channel = pipeOf(leader, CHANNEL)
    const end = once(leader, 'exit').then(([code, signal]): CommandEnd => ({ code, signal }))
    const unwatched = once(watcher, 'exit').then((): CommandEnd => {
      throw new ToolError('supervision_lost', 'The process that watched over the command was ended')
    })
    this.ended = Promise.race([end, unwatched])
    this.ended.catch(() => {})
    unwatched.catch(() => {})
  }

  /**
   * Starts a command; its output has a name in the folder `pipes` for a moment. Throws ToolError if the system cannot.
   */
  static async start(options: CommandOptions, pipes: string): Promise<SupervisedCommand> {
    const mark = `CATALOG_TOOL_CALL=${randomUUID()}`
    const [name = '', value = ''] = mark.split('=')
    const { PATH = '' } = options.environment
    const output = await openPipe(pipes, PATH)
    output.reader.on('error', () => {})
    const starting = [
      startProcess(SHELL, ['-c', WATCHER], {
        cwd: '/',
        detached: true,
        env: { PATH },
        stdio: ['pipe', 'ignore', 'ignore'],
      }),
      startProcess(SHELL, ['-c', GATE, options.shell, options.command], {
        cwd: options.directory,
        detached: true,
        env: { ...options.environment, PWD: options.directory, [name]: value },
        stdio: ['ignore', output.writer, output.writer, 'pipe', ...(options.channel ? ['pipe' as const] : [])],
      }),
    ] as const
    await Promise.allSettled(starting)
    await output.closeWriter()
    try {
      const [watcher, leader] = await Promise.all(starting)
      const group = leader.pid as number
      // The command begins only when the watcher is certain to notice it.
      await new Promise((written) => watcher.stdin?.write(`${group}\n${mark}\n`, written))
      pipeOf(leader, CONTROL)?.end('go\n')
      return new SupervisedCommand(leader, watcher, output.reader, group, mark)
    } catch (error) {
      for (const each of starting) each.then((child) => child.kill('SIGKILL')).catch(() => {})
      output.reader.destroy()
      throw error
    }
  }

  async terminate(graceMs: number): Promise<void> {
    signalGroup(this.#group, 'SIGTERM')
    await settledWithin(this.ended, graceMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.channel?.destroy()
    await killAll(this.#group, this.#mark)
    await readToEnd(this.output)
    this.#leader.unref()
    if (this.#watcher.exitCode === null && this.#watcher.signalCode === null) {
      const gone = once(this.#watcher, 'exit')
      this.#watcher.kill('SIGKILL')
      await gone
    }
  }
}

async function openPipe(folder: string, path: string): Promise<OutputPipe> {
  try {
    return await openOutputPipe(folder, path)
  } catch (error) {
    throw new ToolError('not_started', `The system cannot make a pipe now: ${codeOf(error) ?? 'mkfifo failed'}`)
  }
}
