import { hash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import {
  McpServerSchema,
  type McpServer as McpServerState,
  McpServer_Status as Status,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import type { ConfigurationDocument } from '#services/catalog/domain/configuration.ts'
import { type McpEntry, readMcpEntries, type UsableEntry } from '#services/catalog/domain/mcp/server-entry.ts'
import type { Offer, OpenSource } from '#services/catalog/ports/source.ts'
import type { Tools } from '#services/catalog/ports/tools.ts'
import type { OpenConfiguration } from '../configuration/configuration.ts'
import type { ServerTools } from './list-tools.ts'
import type { McpServer } from './mcp-server.ts'
import { McpTools, type OfferedTool, toolNameOf } from './mcp-tools.ts'

interface Options {
  readonly configuration: OpenConfiguration
  /** A server for an entry, which calls `changed` when its tools have changed. */
  readonly create: (entry: UsableEntry) => McpServer
  readonly end: (server: McpServer) => void
  readonly onOmitted: (server: string, names: readonly string[]) => void
}

/** Maximum number of tools of all servers of a location. */
const MAX_TOOLS = 512
const SHOWN_OMITTED = 20

/** The MCP servers of one location, as its configuration names them. */
export class LocationServers implements OpenSource<Tools> {
  readonly #options: Options
  #documents: readonly ConfigurationDocument[] | undefined
  #entries: readonly McpEntry[] = []
  /** Name → the server of its usable entry. */
  #servers = new Map<string, McpServer>()
  #offer: Offer<Tools> | undefined
  /** What the servers had listed when the offer was made. */
  #listed: readonly ServerTools[] = []
  /** Name of a server → names of its tools that are not offered. */
  #omitted = new Map<string, readonly string[]>()
  #disposed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Those of usable entries. */
  get all(): Iterable<McpServer> {
    return this.#servers.values()
  }

  async read(start = false): Promise<Offer<Tools>> {
    const documents = await this.#options.configuration.read()
    if (documents !== this.#documents && !this.#disposed) this.#reconcile(documents)
    if (start) await Promise.all([...this.#servers.values()].map((server) => server.ready()))
    const listed = [...this.#servers.values()].map((server) => server.listed)
    const same = listed.length === this.#listed.length && listed.every((one, i) => one === this.#listed[i])
    if (this.#offer === undefined || !same) this.#offer = this.#makeOffer(listed)
    return this.#offer
  }

  states(): McpServerState[] {
    return this.#entries.map((entry) => {
      const { name } = entry
      if (entry.type === 'disabled') return create(McpServerSchema, { name, status: Status.DISABLED })
      if (entry.type === 'refused') return create(McpServerSchema, { name, status: entry.status, error: entry.problem })
      const server = this.#servers.get(name)
      const omitted = this.#omitted.get(name) ?? []
      const { tools, omitted: unusable } = server?.listed ?? { tools: [], omitted: [] }
      return create(McpServerSchema, {
        name,
        ...(server?.status ?? { status: Status.IDLE }),
        toolCount: tools.length + unusable.length - omitted.length,
        omittedTools: omitted.slice(0, SHOWN_OMITTED),
        omittedCount: omitted.length,
      })
    })
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    this.#options.configuration[Symbol.dispose]()
    for (const server of this.#servers.values()) this.#options.end(server)
    this.#servers.clear()
  }

  /** Keeps the servers whose entries are unchanged, ends the others, and creates the new ones. */
  #reconcile(documents: readonly ConfigurationDocument[]): void {
    const before = this.#servers
    this.#documents = documents
    this.#entries = readMcpEntries(documents)
    const usable = this.#entries.filter((entry) => entry.type === 'usable')
    this.#servers = new Map(
      usable.map((entry) => {
        const server = before.get(entry.name)
        const same = server !== undefined && JSON.stringify(server.entry) === JSON.stringify(entry)
        return [entry.name, same ? server : this.#options.create(entry)]
      }),
    )
    this.#offer = undefined
    for (const [name, server] of before) if (this.#servers.get(name) !== server) this.#options.end(server)
  }

  #makeOffer(listed: readonly ServerTools[]): Offer<Tools> {
    const offered = new Map<string, OfferedTool>()
    const omitted = new Map<string, string[]>()
    for (const [name, server] of this.#servers) {
      const left = [...server.listed.omitted]
      for (const tool of server.listed.tools) {
        const key = toolNameOf(name, tool.name)
        if (offered.size < MAX_TOOLS && !offered.has(key)) offered.set(key, { name: key, server, tool })
        else left.push(tool.name)
      }
      omitted.set(name, left)
      if (left.length > 0 && left.length !== this.#omitted.get(name)?.length) this.#options.onOmitted(name, left)
    }
    this.#omitted = omitted
    this.#listed = listed
    const value = new McpTools([...offered.values()])
    // The server of a tool is part of its identity: calls of an older generation go to a server that was ended.
    const entries = [...this.#servers.values()].map((server) => server.entry)
    return { value, digest: hash('sha256', JSON.stringify([value.list(), entries]), 'hex') }
  }
}
