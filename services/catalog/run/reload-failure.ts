import { Rejection } from '#shared/rejection.ts'

/** A location that could not be reloaded. */
export interface ReloadFailure {
  readonly directory: string
  readonly problem: string
}

/** Describes what prevented a location from being reloaded. */
export function reloadFailure(directory: string, error: unknown): ReloadFailure {
  if (error instanceof Rejection)
    return { directory, problem: error.metadata.problem ?? 'it is gone, or cannot be read' }
  return { directory, problem: error instanceof Error ? error.message : String(error) }
}
