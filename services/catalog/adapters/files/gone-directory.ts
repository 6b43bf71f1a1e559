import { stat } from 'node:fs/promises'
import { ToolError } from '../tools/tool.ts'
import { codeOf } from './paths.ts'

/** Returns the error or, if nothing is found because the whole location is gone, one that says so. */
export async function goneDirectory(error: ToolError, directory: string): Promise<ToolError> {
  if (error.kind !== 'not_found' && error.kind !== 'not_started') return error
  const isThere = await stat(directory).then(
    () => true,
    (failure: unknown) => codeOf(failure) !== 'ENOENT',
  )
  return isThere ? error : new ToolError('not_found', `The project directory does not exist any more: ${directory}`)
}
