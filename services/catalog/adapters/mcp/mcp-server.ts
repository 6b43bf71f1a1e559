import { type McpServer as McpServerState, McpServer_Status as State } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { UsableEntry } from '#services/catalog/domain/mcp/server-entry.ts'
import type { ToolOutcome } from '#services/catalog/domain/tool-outcome.ts'
import type { ProcessPlace, ProcessPlaces } from '#services/catalog/run/process-places.ts'
import type { Clock } from '#shared/clock.ts'
import { orAborted } from '#shared/or-aborted.ts'
import { Places } from '#shared/places.ts'
import type { ToolCall } from './call-tool.ts'
import type { Connection, ConnectOptions } from './connect.ts'
import type { ServerTools } from './list-tools.ts'
import { Retry } from './retry.ts'
import { ToolList } from './tool-list.ts'
import { failedCall, messageOf } from './tool-result.ts'

interface Options {
  readonly connect: (entry: UsableEntry, options: ConnectOptions) => Promise<Connection>
  readonly places: ProcessPlaces
  readonly clock: Clock
  /** What was last known about its tools; undefined: nothing. */
  readonly listed: ServerTools | undefined
  readonly onStatus: () => void
  /** Its tools became known, or have changed. */
  readonly onTools: () => void
}

type Status = Pick<McpServerState, 'status' | 'error'>

interface Live {
  readonly connection: Connection
  /** Undefined: it has no process here. */
  readonly place: ProcessPlace | undefined
  readonly since: number
}

/** Time limit for its start, unless the entry sets one. */
const START_MS = 30_000
/** Longest silence of a call, likewise. */
const SILENCE_MS = 120_000
/** How long a call waits for its server. */
const READY_MS = 60_000
/** After this time, a server that ends has worked. */
const STEADY_MS = 60_000
const MAX_CALLS = 32

/**
 * A configured server of one location: started when needed, restarted with growing delays when it ends by itself, and
 * ended when its place is wanted while nobody calls it. What is known about its tools remains known meanwhile.
 */
export class McpServer {
  readonly entry: UsableEntry
  readonly #options: Options
  readonly #startMs: number
  readonly #calls = new Places(MAX_CALLS)
  readonly #closing = new AbortController()
  readonly #tools: ToolList
  readonly #retry = new Retry()
  #status: Status = { status: State.IDLE }
  #changed = Promise.withResolvers<void>()
  #live: Live | undefined
  #starting: Promise<void> | undefined
  /** The server that is being ended. */
  #ending: Promise<void> = Promise.resolve()

  constructor(entry: UsableEntry, options: Options) {
    this.entry = entry
    this.#options = options
    this.#startMs = entry.timeoutMs ?? START_MS
    const { clock, listed } = options
    this.#tools = new ToolList({ clock, listed, list: () => this.#list(), onChange: options.onTools })
  }

  get status(): Status {
    return this.#status
  }

  /** What was last known about its tools. */
  get listed(): ServerTools {
    return this.#tools.listed
  }

  /** Whether its tools are known, if only from when the location was open before. */
  get everKnown(): boolean {
    return this.#tools.everKnown
  }

  /** Starts it unless it has listed its tools. Resolves once they are known, it has failed, or time is up. */
  ready(): Promise<void> {
    if (!this.#tools.everListed) this.#begin()
    return this.#tools.known
  }

  /** Calls a tool, once. Throws the signal's reason. */
  async call(call: Omit<ToolCall, 'timeoutMs'>): Promise<ToolOutcome> {
    using _place = await this.#calls.take(call.signal)
    const ready = await this.#ready(call.signal)
    if (typeof ready === 'string') {
      return failedCall(
        'mcp_unavailable',
        `MCP server ${this.entry.name} is not available, and was sent nothing: ${ready}`,
      )
    }
    using _use = ready.use
    return await ready.connection.call({ ...call, timeoutMs: this.entry.timeoutMs ?? SILENCE_MS })
  }

  /** Ends it permanently. Resolves when nothing of it is left. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('It is not configured any more'))
    this.#retry[Symbol.dispose]()
    this.#tools[Symbol.dispose]()
    this.#rest()
    this.#changed.resolve()
    await this.#starting
    await this.#ending
  }

  /** Starts it, unless it is running, starting, or waiting for its next attempt. */
  #begin(): void {
    const { signal } = this.#closing
    if (this.#live !== undefined || this.#starting !== undefined || this.#retry.pending || signal.aborted) return
    this.#tools.startWaiting()
    this.#starting = this.#start().catch((error: unknown) => this.#fail(error))
    this.#become({ status: State.STARTING })
  }

  async #start(): Promise<void> {
    const { connect, places, clock } = this.#options
    const { signal } = this.#closing
    await this.#ending
    const place = this.entry.target.type === 'local' ? await places.take(signal, () => this.#rest()) : undefined
    using _use = place?.use()
    let connection: Connection | undefined
    try {
      const limits = { signal, timeoutMs: this.#startMs, onToolsChanged: () => this.#tools.changed() }
      connection = await connect(this.entry, limits)
      const listed = await connection.list(signal, this.#startMs)
      signal.throwIfAborted()
      place?.started()
      const live = { connection, place, since: clock.monotonic() }
      this.#live = live
      this.#starting = undefined
      void connection.closed.then((why) => this.#lost(live, why))
      this.#become({ status: State.CONNECTED })
      this.#tools.learn(listed)
    } catch (error) {
      await connection?.close()
      place?.[Symbol.dispose]()
      throw error
    }
  }

  // A string explains to people why it is not ready.
  async #ready(signal: AbortSignal): Promise<{ connection: Connection; use: Disposable | undefined } | string> {
    const late = AbortSignal.timeout(READY_MS)
    for (;;) {
      signal.throwIfAborted()
      if (this.#closing.signal.aborted) return 'it is not configured any more'
      if (this.#live !== undefined) return { connection: this.#live.connection, use: this.#live.place?.use() }
      if (late.aborted) return 'it takes too long to start'
      if (this.#retry.hopeless) return this.#status.error ?? ''
      const { promise } = this.#changed
      this.#begin()
      // The condition above determines which one it was.
      await orAborted(promise, AbortSignal.any([signal, late])).catch(() => {})
    }
  }

  #lost(live: Live, why: string): void {
    if (this.#live !== live) return
    if (this.#options.clock.monotonic() - live.since > STEADY_MS) this.#retry.forget()
    this.#live = undefined
    this.#end(live)
    this.#fail(new Error(why))
  }

  #fail(error: unknown): void {
    this.#starting = undefined
    if (this.#closing.signal.aborted) return
    const wait = this.#retry.failed(() => this.#begin())
    const isUnauthorized = error instanceof Error && error.name === 'AuthorizationNeeded'
    const status = isUnauthorized ? State.NEEDS_AUTH : State.FAILED
    this.#become({ status, error: `${messageOf(error)} (next try in ${wait / 1_000} s)` })
    this.#tools.giveUp()
  }

  /** Ends its process until it is needed again. */
  #rest(): void {
    const live = this.#live
    if (live === undefined) return
    this.#live = undefined
    this.#end(live)
    this.#become({ status: State.IDLE })
  }

  #end({ connection, place }: Live): void {
    const ended = connection.close().finally(() => place?.[Symbol.dispose]())
    this.#ending = Promise.all([this.#ending, ended]).then(() => {})
  }

  async #list(): Promise<ServerTools | undefined> {
    const live = this.#live
    using _use = live?.place?.use()
    const listed = await live?.connection.list(this.#closing.signal, this.#startMs).catch(() => undefined)
    return this.#live === live ? listed : undefined
  }

  #become(status: Status): void {
    this.#status = status
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
    this.#options.onStatus()
  }
}
