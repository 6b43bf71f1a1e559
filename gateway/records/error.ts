import { z } from 'zod'
import type { StepRetry, StructuredError } from '#gen/portico/session/v1/message_pb.js'
import type { JsonOf } from '../kinds.ts'
import { time } from './time.ts'

const MAX_INT32 = 2_147_483_647

export const structuredError = z
  .strictObject({
    type: z.string(),
    message: z.string(),
    status: z.int().min(0).max(MAX_INT32).optional(),
    response: z.strictObject({ body: z.string() }).optional(),
  })
  .meta({ id: 'StructuredError' })

/** The retry that a step waits for. */
export const retry = z.strictObject({ attempt: z.int().min(1).max(MAX_INT32), at: time, error: structuredError })

export function fromError(error: StructuredError): JsonOf<typeof structuredError>
export function fromError(error: StructuredError | undefined): JsonOf<typeof structuredError> | undefined
export function fromError(error: StructuredError | undefined): JsonOf<typeof structuredError> | undefined {
  if (error === undefined) return undefined
  const { type, message, status, responseBody } = error
  const response = responseBody === undefined ? undefined : { body: responseBody }
  return { type, message, status, response }
}

export function fromSetError(error: StructuredError | undefined): JsonOf<typeof structuredError> {
  if (error === undefined) throw new Error('A service returned no error')
  return fromError(error)
}

export function fromRetry({ attempt, startTime, error }: StepRetry): JsonOf<typeof retry> {
  return { attempt, at: startTime, error: fromSetError(error) }
}
