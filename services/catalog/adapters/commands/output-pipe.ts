import { execFile } from 'node:child_process'
import { close, constants, open } from 'node:fs'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { ownerOf, processMark } from '../files/process-mark.ts'

/** A pipe: what is written to one end comes out of the other. */
export interface OutputPipe {
  readonly reader: Readable
  /** Descriptor for a child process; must be closed by `closeWriter` once the child has it. */
  readonly writer: number
  closeWriter(): Promise<void>
}

const openFile = promisify(open)
const closeFile = promisify(close)
const run = promisify(execFile)

const PREFIX = 'portico-pipe-'
/**
 * A name exists for some milliseconds: after this time, one whose owner cannot be determined is certainly a remnant.
 */
const REMNANT_MS = 3_600_000

/**
 * Makes a pipe. Node gives a child process a socket for its output, and a socket cannot be opened by name, so `tee
 * /dev/stderr` and `> /dev/stdout` would fail. `folder` is where the pipe has a name for a moment; `path` is the PATH
 * in which mkfifo(1) is found.
 */
export async function openOutputPipe(folder: string, path: string): Promise<OutputPipe> {
  const directory = await mkdtemp(join(folder, `${PREFIX}${await processMark()}-`))
  try {
    const name = join(directory, 'pipe')
    await run('mkfifo', ['-m', '600', name], { env: { PATH: path } })
    // The reading end first: opening the other one would wait for it.
    const reading = await openFile(name, constants.O_RDONLY | constants.O_NONBLOCK)
    const writer = await openFile(name, constants.O_WRONLY).catch(async (error: unknown) => {
      await closeFile(reading)
      throw error
    })
    const reader = new Socket({ fd: reading, readable: true, writable: false })
    return { reader, writer, closeWriter: () => closeFile(writer) }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/**
 * Removes the names of pipes that killed processes left in a folder; `now` is in milliseconds since the epoch. Those of
 * living processes are kept and, for an hour, those of other containers, whose process ids mean nothing here.
 */
export async function sweepOutputPipes(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(PREFIX)) continue
    const path = join(folder, name)
    const { mtimeMs, uid } = await lstat(path).catch(() => ({ mtimeMs: now, uid: -1 }))
    if (uid !== process.getuid?.()) continue
    if (now - mtimeMs > REMNANT_MS || (await ownerOf(name.slice(PREFIX.length))) === 'gone') {
      await rm(path, { recursive: true, force: true }).catch(() => {})
    }
  }
}
