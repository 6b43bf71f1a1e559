import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { ownTurn } from '#shared/own-turn.ts'
import { codeOf } from '../files/paths.ts'
import { ToolError } from '../tools/tool.ts'

/**
 * Starts a process, in its own turn of the event loop. Throws ToolError `not_started` if the system cannot, in
 * whichever way Node reports that: it throws, or emits an error later, which would end this process if nobody listened;
 * and without free descriptors the child has no pipes. Later errors of the process or its pipes are not reported.
 */
export async function startProcess(
  program: string,
  words: readonly string[],
  options: SpawnOptions,
): Promise<ChildProcess> {
  // It blocks the event loop for milliseconds.
  await ownTurn()
  try {
    const child = spawn(program, words, options)
    child.on('error', () => {})
    if (child.pid === undefined) throw (await once(child, 'error'))[0]
    for (const pipe of child.stdio) pipe?.on('error', () => {})
    return child
  } catch (error) {
    throw notStarted(error)
  }
}

/** The message for the model about a process that the system did not start. */
export function notStarted(error: unknown): ToolError {
  const code = codeOf(error)
  return new ToolError('not_started', `The system cannot start a process now${code === undefined ? '' : `: ${code}`}`)
}
