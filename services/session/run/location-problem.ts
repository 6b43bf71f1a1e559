import { Rejection } from '#shared/rejection.ts'

/**
 * What is wrong with the directory of a session, for whoever uses the session; undefined: another thing was rejected.
 */
export function locationProblem(error: unknown, directory: string): string | undefined {
  if (!(error instanceof Rejection)) return undefined
  const { reason, metadata } = error
  switch (reason) {
    case 'LOCATION_NOT_FOUND':
      return `The directory of the session does not exist any more: ${directory}`
    case 'LOCATION_FORBIDDEN':
      return `The directory of the session may not be used any more: ${directory}`
    case 'LOCATION_INVALID':
      return `The directory of the session cannot be used any more: ${directory}: ${metadata.problem}`
    default:
      return undefined
  }
}
