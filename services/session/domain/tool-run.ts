import type { JsonObject } from '#shared/json.ts'
import type { PinnedLocation, ToolAccess } from './agent.ts'

/** A tool call that is to run. `fence` is its drain's, `grant` what permission was given for. */
export interface ToolRun {
  readonly location: PinnedLocation
  readonly sessionId: string
  readonly callId: string
  readonly fence: number
  readonly name: string
  readonly input: JsonObject
  readonly grant: readonly ToolAccess[]
}

/** A file that the catalog read; the name is undefined when it has none. */
export interface ReadFile {
  readonly data: Uint8Array
  readonly mime: string
  readonly name: string | undefined
}
