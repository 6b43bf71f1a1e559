import { Worker } from 'node:worker_threads'
import type { GrepMatch, GrepOptions } from './grep-worker.ts'
import { ToolError } from './tool.ts'

/**
 * Searches texts for lines that match a regular expression, in a thread of its own: a pattern that takes for ever blocks
 * nobody, and ends with the thread when the search is disposed.
 */
export class LineSearch implements AsyncDisposable {
  readonly #worker: Worker

  constructor(options: GrepOptions) {
    this.#worker = new Worker(new URL('./grep-worker.ts', import.meta.url), {
      workerData: options,
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    })
    // An error that comes while nobody waits must not end the process; the next search finds the thread gone.
    this.#worker.on('error', () => {})
  }

  /**
   * Searches one batch; the buffers are moved to the thread. One at a time. Throws the signal's reason when it aborts, and
   * ToolError when the thread fails, for want of memory for instance.
   */
  search(files: readonly Uint8Array<ArrayBuffer>[], signal: AbortSignal): Promise<readonly GrepMatch[]> {
    return new Promise((resolve, reject) => {
      const worker = this.#worker
      const settle = (act: () => void): void => {
        worker.off('message', onMessage).off('exit', onExit)
        signal.removeEventListener('abort', onAbort)
        act()
      }
      const onMessage = (matches: readonly GrepMatch[]): void => settle(() => resolve(matches))
      const onExit = (): void => settle(() => reject(new ToolError('search_failed', 'The search took too much memory')))
      const onAbort = (): void => settle(() => reject(signal.reason))
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', onAbort)
      worker.on('message', onMessage).on('exit', onExit)
      worker.postMessage(
        files,
        files.map((file) => file.buffer),
      )
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate()
  }
}
