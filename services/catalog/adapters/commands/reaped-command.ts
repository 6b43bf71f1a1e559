import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { constants, open } from 'node:fs'
import { Socket } from 'node:net'
import { constants as systemConstants } from 'node:os'
import { createInterface } from 'node:readline'
import type { Duplex, Readable } from 'node:stream'
import { promisify } from 'node:util'
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
import { killAll, signalGroup } from './process-table.ts'
import { notStarted, startProcess } from './start-process.ts'

const openFile = promisify(open)
/** How long a supervisor may take to report where the output is read. */
const START_MS = 10_000
/** How long the supervisors may take to end everything, before they give up. */
const END_MS = 12_000
const RESUME_EVERY_MS = 50
const SIGNALS = new Map(Object.entries(systemConstants.signals).map(([name, number]) => [number, name]))

/** A program that runs a supervisor script, and its arguments up to the shell. */
export interface Supervisor {
  readonly program: string
  readonly words: readonly string[]
}

/**
 * A command below two supervisors that adopt whatever loses its parent (`supervisor.pl`; Linux).
 * Nothing that it starts leaves their tree, so all of it is found, whatever it does to its group, session, descriptors
 * or environment. The supervisors end all of it when this process closes their pipe or is gone, and each of them does
 * so when the other one is gone.
 */
export class ReapedCommand implements Command {
  readonly output: Readable
  readonly channel: Duplex | undefined
  readonly ended: Promise<CommandEnd>
  readonly #supervisor: ChildProcess
  readonly #reports: Reports
  readonly #mark: string

  private constructor(supervisor: ChildProcess, reports: Reports, output: Readable, mark: string) {
    this.#supervisor = supervisor
    this.#reports = reports
    this.#mark = mark
    this.output = output
    this.channel = pipeOf(supervisor, CHANNEL)
    this.ended = reports.end
  }

  /** Starts a command. Throws ToolError if the system cannot. */
  static async start(supervisor: Supervisor, options: CommandOptions): Promise<ReapedCommand> {
    const name = 'CATALOG_TOOL_CALL'
    const value = randomUUID()
    const child = await startProcess(supervisor.program, [...supervisor.words, options.shell], {
      cwd: options.directory,
      // In a session of its own, so that it is not affected when groups or sessions around this process end.
      detached: true,
      env: { ...options.environment, PWD: options.directory, [name]: value },
      // The supervisors pass on all other descriptors that they inherit.
      stdio: ['pipe', 'ignore', 'ignore', 'pipe', ...(options.channel ? ['pipe' as const] : [])],
    })
    try {
      const reports = new Reports(pipeOf(child, CONTROL))
      if (!(await settledWithin(reports.pipe, START_MS))) throw new Error('The supervisor does not start')
      const descriptor = await reports.pipe
      const reading = await openFile(`/proc/${child.pid}/fd/${descriptor}`, constants.O_RDONLY | constants.O_NONBLOCK)
      const output = new Socket({ fd: reading, readable: true, writable: false })
      output.on('error', () => {})
      child.stdin?.write(`${Buffer.byteLength(options.command)}\n${options.command}`)
      return new ReapedCommand(child, reports, output, `${name}=${value}`)
    } catch (error) {
      child.kill('SIGKILL')
      throw notStarted(error)
    }
  }

  async terminate(graceMs: number): Promise<void> {
    const { group } = this.#reports
    if (group !== undefined) signalGroup(group, 'SIGTERM')
    await settledWithin(this.ended, graceMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#supervisor
    const gone = Promise.all([this.#reports.closed, exitOf(child)])
    child.stdin?.destroy()
    this.channel?.destroy()
    // The command may have stopped it.
    const resume = setInterval(() => child.kill('SIGCONT'), RESUME_EVERY_MS)
    const inTime = await settledWithin(gone, END_MS)
    clearInterval(resume)
    if (!inTime) child.kill('SIGKILL')
    // A supervisor that was killed could not finish its work.
    const { group } = this.#reports
    if (child.exitCode !== 0 && group !== undefined) await killAll(group, this.#mark)
    await readToEnd(this.output)
  }
}

class Reports {
  /** Their descriptor from which the output is read; rejects if they end before. */
  readonly pipe: Promise<number>
  readonly end: Promise<CommandEnd>
  /** Resolves when no supervisor is left. */
  readonly closed: Promise<void>
  /** Process group of the command, once it has one. */
  group: number | undefined

  constructor(source: Readable | undefined) {
    if (source === undefined) throw new Error('The supervisor has no pipe')
    const pipe = Promise.withResolvers<number>()
    const end = Promise.withResolvers<CommandEnd>()
    const closed = Promise.withResolvers<void>()
    const lines = createInterface({ input: source })
    lines.on('line', (line) => {
      const word = line.split(' ')[0]
      const number = Number(line.split(' ')[1])
      if (word === 'pipe') pipe.resolve(number)
      if (word === 'pid') this.group = number
      if (word === 'exit') end.resolve({ code: number, signal: null })
      if (word === 'signal') end.resolve({ code: null, signal: SIGNALS.get(number) ?? `signal ${number}` })
    })
    lines.on('close', () => {
      pipe.reject(new Error('The supervisor ended'))
      end.reject(new ToolError('supervision_lost', 'The process that watched over the command was ended'))
      closed.resolve()
    })
    for (const { promise } of [pipe, end]) promise.catch(() => {})
    this.pipe = pipe.promise
    this.end = end.promise
    this.closed = closed.promise
  }
}

async function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}
