import { Rejection } from '#shared/rejection.ts'

/** A GENERATION_INVALID. */
export function invalid(field: string, problem: string): Rejection {
  return new Rejection('GENERATION_INVALID', { field, problem })
}

/** Rejects with GENERATION_INVALID unless it holds. */
export function check(holds: boolean, field: string, problem: string): asserts holds {
  if (!holds) throw invalid(field, problem)
}
