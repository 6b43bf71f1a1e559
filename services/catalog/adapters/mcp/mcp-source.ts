import { create } from '@bufbuild/protobuf'
import { LRUCache } from 'lru-cache'
import { Agent } from 'undici'
import type { Location, McpServer as McpServerState } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type CatalogEvent, McpServerUpdatedSchema, McpToolsChangedSchema } from '#gen/portico/catalog/v1/event_pb.js'
import type { UsableEntry } from '#services/catalog/domain/mcp/server-entry.ts'
import type { McpServers } from '#services/catalog/ports/mcp-servers.ts'
import type { OpenSource } from '#services/catalog/ports/source.ts'
import type { ToolSource, Tools } from '#services/catalog/ports/tools.ts'
import type { ProcessPlaces } from '#services/catalog/run/process-places.ts'
import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { Configuration } from '../configuration/configuration.ts'
import type { ConnectMeans } from './connect.ts'
import type { ServerTools } from './list-tools.ts'
import { LocationServers } from './location-servers.ts'
import { McpServer } from './mcp-server.ts'

interface Options extends Omit<ConnectMeans, 'dispatcher'> {
  readonly configuration: Configuration
  readonly places: ProcessPlaces
  readonly clock: Clock
  readonly logger: Logger
  readonly onChange: (directory: string, event: CatalogEvent['event']) => void
}

/** A response may take as long as a call. */
const HEADERS_MS = 900_000
const CONNECT_MS = 15_000
const LOGGED_OMITTED = 100
/** How many characters of the tools of closed locations are cached. */
const MAX_REMEMBERED = 16 << 20

/**
 * The MCP servers of all open locations, and their tools. Disposing it, once all are closed, resolves when nothing of
 * them is left.
 */
export class McpSource implements ToolSource, McpServers, AsyncDisposable {
  readonly #options: Options
  /**
   * Directory → its servers that were needed, the current ones last: while a location is rebuilt, nobody needs its new
   * servers yet.
   */
  readonly #open = new Map<string, readonly LocationServers[]>()
  readonly #ending = new Set<Promise<void>>()
  /** Tools of servers whose locations were closed: when one is opened again, it need not wait for its servers. */
  readonly #remembered = new LRUCache<string, ServerTools>({
    maxSize: MAX_REMEMBERED,
    sizeCalculation: (listed) => JSON.stringify(listed).length,
  })
  readonly #dispatcher = new Agent({
    allowH2: false,
    pipelining: 1,
    connect: { timeout: CONNECT_MS },
    headersTimeout: HEADERS_MS,
    bodyTimeout: 0,
  })

  constructor(options: Options) {
    this.#options = options
  }

  open(location: Location, changed: () => void): OpenSource<Tools> {
    const { configuration, onChange, places, clock, logger } = this.#options
    const { directory } = location
    const counts = (): boolean => this.#open.get(directory)?.at(-1) === servers
    const servers = new LocationServers({
      configuration: configuration.open(location, changed),
      create: (entry) => {
        const { name } = entry
        const server: McpServer = new McpServer(entry, {
          places,
          clock,
          listed: this.#recall(directory, entry),
          connect: async (_, options) => {
            // The client takes time to load, and most catalogs never need it.
            const { connect } = await import('./connect.ts')
            return await connect(entry.target, directory, { ...this.#options, dispatcher: this.#dispatcher }, options)
          },
          onStatus: () => {
            const { error } = server.status
            if (error !== undefined) logger.warn({ directory, server: name, error }, 'An MCP server cannot be used now')
            if (counts())
              onChange(directory, { case: 'mcpServerUpdated', value: create(McpServerUpdatedSchema, { server: name }) })
          },
          onTools: () => {
            if (!counts()) return
            onChange(directory, { case: 'mcpToolsChanged', value: create(McpToolsChangedSchema, { server: name }) })
            changed()
          },
        })
        return server
      },
      end: (server) => this.#end(server),
      onOmitted: (server, names) => {
        const detail = { directory, server, count: names.length, names: names.slice(0, LOGGED_OMITTED) }
        logger.warn(detail, 'Tools of an MCP server are not offered')
      },
    })
    let phase: 'new' | 'needed' | 'closed' = 'new'
    return {
      read: (start) => {
        if (start && phase === 'new') {
          phase = 'needed'
          this.#open.set(directory, [...(this.#open.get(directory) ?? []), servers])
        }
        return servers.read(start)
      },
      [Symbol.dispose]: () => {
        phase = 'closed'
        const others = this.#open.get(directory)?.filter((other) => other !== servers) ?? []
        if (others.length > 0) this.#open.set(directory, others)
        else {
          this.#open.delete(directory)
          for (const { entry, everKnown, listed } of servers.all) {
            if (everKnown) this.#remembered.set(keyOf(directory, entry), listed)
          }
        }
        servers[Symbol.dispose]()
      },
    }
  }

  states({ directory }: Location): McpServerState[] {
    return this.#open.get(directory)?.at(-1)?.states() ?? []
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#ending)
    await this.#dispatcher.destroy()
  }

  /** Only once: when the location is rebuilt, its servers list their tools again. */
  #recall(directory: string, entry: UsableEntry): ServerTools | undefined {
    const key = keyOf(directory, entry)
    const listed = this.#remembered.get(key)
    this.#remembered.delete(key)
    return listed
  }

  #end(server: McpServer): void {
    const ending = server.close().catch((error: unknown) => {
      this.#options.logger.warn({ err: error, server: server.entry.name }, 'An MCP server could not be ended')
    })
    this.#ending.add(ending)
    void ending.finally(() => this.#ending.delete(ending))
  }
}

function keyOf(directory: string, entry: UsableEntry): string {
  return JSON.stringify([directory, entry])
}
