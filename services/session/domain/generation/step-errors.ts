import { structuredError } from '../structured-error.ts'

export const STEP_ABORTED = structuredError('aborted', 'The step was cut off')
/** The error of a tool call that was cut off, and is known not to have begun. */
export const TOOL_NOT_BEGUN = structuredError(
  'aborted',
  'The tool call was cut off before it began; it has done nothing',
)

/** The error type of a step whose conversation does not fit into the model. */
export const CONTEXT_OVERFLOW = 'context.overflow'
