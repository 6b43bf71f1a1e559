import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Duplex, type Readable } from 'node:stream'

export interface CommandOptions {
  readonly shell: string
  readonly command: string
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  /** Gives the command a descriptor that both sides read and write: `CHANNEL`. */
  readonly channel?: boolean
}

/** Descriptors of pipes between a command, or what supervises it, and this process. */
export const CONTROL = 3
export const CHANNEL = 4

export interface CommandEnd {
  /** Null: ended by a signal. */
  readonly code: number | null
  readonly signal: string | null
}

/**
 * A shell command in a process group of its own. It ends, with everything that it started, when it is disposed or when
 * this process is killed (SIGKILL). This is supervision, not a sandbox: a command can do whatever the user can that
 * runs Portico.
 */
export interface Command extends AsyncDisposable {
  /** Standard output and standard error, in the order in which they were written. */
  readonly output: Readable
  /** Our end of the channel, if one was requested. It may stay open after the command has ended. */
  readonly channel: Duplex | undefined
  /** Resolves when the command itself has ended; rejects with ToolError if its supervision failed. */
  readonly ended: Promise<CommandEnd>
  /** Terminates the whole group, and waits for the command for at most `graceMs`. */
  terminate(graceMs: number): Promise<void>
  /** Ends everything that the command started, and resolves when all of it has ended and its output has been read. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a command. Throws ToolError if the system cannot. */
export type StartCommand = (options: CommandOptions) => Promise<Command>

/** Our end of the pipe that a process has as this descriptor; undefined: it was started without one. */
export function pipeOf(child: ChildProcess, descriptor: number): Duplex | undefined {
  const pipe = child.stdio[descriptor]
  return pipe instanceof Duplex ? pipe : undefined
}

const OUTPUT_GRACE_MS = 500

/** Waits until a promise settles, for a limited time; returns whether it did. */
export async function settledWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(late.resolve, milliseconds, false)
  const settled = promise.then(
    () => true,
    () => true,
  )
  return await Promise.race([settled, late.promise]).finally(() => clearTimeout(timer))
}

/** Waits until everything has been read, but not for a hidden process that may hold the output open. */
export async function readToEnd(output: Readable): Promise<void> {
  if (output.readableEnded || output.destroyed) return
  output.resume()
  const waiting = new AbortController()
  await settledWithin(once(output, 'close', { signal: waiting.signal }), OUTPUT_GRACE_MS)
  waiting.abort()
  output.destroy()
}

/** Quotes a word for a shell. */
export function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
