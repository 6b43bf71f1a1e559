import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Rejection } from '#shared/rejection.ts'
import type { EncodedImport } from './encode-import.ts'
import type { ImportAnswer } from './import-thread.ts'

/** How long the thread stays when there is nothing to do, in milliseconds. */
const IDLE_MS = 10_000
/**
 * More than the most expensive body of 64 MiB takes (2.2 GB: nothing but empty objects), since a thread that reaches
 * its limit while it parses ends the process.
 */
const MAX_HEAP_MB = 4_096

let thread: Worker | undefined
let idle: NodeJS.Timeout | undefined
let last: Promise<unknown> = Promise.resolve()

/**
 * Parses, checks and encodes the JSON of an import in a thread, one import after the other: parsing 64 MiB would hold
 * up the event loop for seconds. Rejects as `encodeImport` does, and with the signal's reason if the client is gone
 * before its turn comes.
 */
export function readImport(bytes: Buffer, signal: AbortSignal): Promise<EncodedImport> {
  const read = last.then(() => {
    signal.throwIfAborted()
    return readNext(bytes)
  })
  last = read.catch(() => {})
  return read
}

async function readNext(bytes: Buffer): Promise<EncodedImport> {
  clearTimeout(idle)
  thread ??= startThread()
  thread.ref()
  // A small body may share its memory with others, and cannot be moved.
  const own = bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
  thread.postMessage(own, [own.buffer as ArrayBuffer])
  try {
    const [answer] = (await once(thread, 'message')) as [ImportAnswer]
    if ('reason' in answer) throw new Rejection(answer.reason, answer.metadata)
    return answer
  } catch (error) {
    // Any other error ended the thread.
    if (!(error instanceof Rejection)) thread = undefined
    throw error
  } finally {
    thread?.unref()
    idle = setTimeout(endThread, IDLE_MS).unref()
  }
}

function startThread(): Worker {
  const url = new URL('./import-thread.ts', import.meta.url)
  return new Worker(url, { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } })
}

function endThread(): void {
  void thread?.terminate()
  thread = undefined
}
