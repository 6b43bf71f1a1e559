import type { StructuredError } from '../message.ts'

/** The error of a step that was cut off. */
export const STEP_ABORTED: StructuredError = { type: 'aborted', message: 'The step was cut off' }
/** The error type of a step whose conversation does not fit into the model. */
export const CONTEXT_OVERFLOW = 'context.overflow'
