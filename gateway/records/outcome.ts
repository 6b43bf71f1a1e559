import { z } from 'zod'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'

/** How a run ended. */
export const outcome = z.enum(['succeeded', 'failed', 'interrupted'])

const OUTCOMES = {
  [Outcome.UNSPECIFIED]: undefined,
  [Outcome.SUCCEEDED]: 'succeeded',
  [Outcome.FAILED]: 'failed',
  [Outcome.INTERRUPTED]: 'interrupted',
} as const

/** Undefined before the first end. */
export function fromOutcome(how: Outcome): z.output<typeof outcome> | undefined {
  return OUTCOMES[how]
}
