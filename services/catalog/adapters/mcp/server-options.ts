import type { McpEntry } from '#services/catalog/domain/mcp/server-entry.ts'
import type { ProcessPlaces } from '#services/catalog/run/process-places.ts'
import type { Clock } from '#shared/clock.ts'
import type { Connection, ConnectOptions } from './connect.ts'
import type { ServerTools } from './list-tools.ts'

/** An entry for a server that may run. */
export type UsableEntry = Extract<McpEntry, { readonly type: 'usable' }>

/** What a server works with. */
export interface ServerOptions {
  readonly connect: (entry: UsableEntry, options: ConnectOptions) => Promise<Connection>
  readonly places: ProcessPlaces
  readonly clock: Clock
  /** What was last known about its tools; undefined: nothing. */
  readonly listed: ServerTools | undefined
  /** Its status has changed. */
  readonly onStatus: () => void
  /** Its tools became known, or have changed. */
  readonly onTools: () => void
}
