import { z } from 'zod'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'

export const outcome = z.enum(['succeeded', 'failed', 'interrupted'])

/** Between JSON and protobuf. */
export const outcomes = enumTable({
  succeeded: Outcome.SUCCEEDED,
  failed: Outcome.FAILED,
  interrupted: Outcome.INTERRUPTED,
})

/** Undefined before the first end. */
export const fromOutcome: (how: Outcome | undefined) => z.output<typeof outcome> | undefined = outcomes.fromProto
