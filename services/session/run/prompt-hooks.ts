import type { EditedPrompt } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { Catalog } from '../ports/catalog.ts'
import type { PeerCall } from '../ports/peer-call.ts'

interface Dependencies {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly logger: Logger
}

/** How long to remember whether a location has a hook for prompts, in milliseconds. */
const KNOWN_MS = 1_000
/** Time limit of the lookup: the catalog itself waits 5 s for plugins that are loading. */
const LOOKUP_MS = 6_000
const MOST_KNOWN = 4_096
/** The reasons for which a prompt that plugins have changed is not valid. */
const NO_PROMPT: ReadonlySet<string> = new Set(['REQUEST_INVALID', 'ATTACHMENT_INVALID'])

/**
 * Lets the plugins of a location change prompts before they are admitted. Without such plugins, this costs one call per
 * second.
 */
export class PromptHooks {
  readonly #dependencies: Dependencies
  /**
   * Workspace and directory → whether a plugin there changes prompts, and until when that is known, in monotonic time.
   */
  readonly #answers = new Map<string, { readonly isThere: boolean; readonly until: number }>()
  readonly #lookups = new Map<string, Promise<boolean>>()

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Whether it is known that no plugin of a directory changes prompts. */
  areNone(workspace: string, directory: string): boolean {
    return this.#knownOf(nameOf(workspace, directory)) === false
  }

  /**
   * Returns the result of `read` for the prompt as changed by plugins. Undefined: the prompt is admitted unchanged,
   * since the plugins do not change it, could not be called, or made it invalid. Throws other errors of `read`, and the
   * call's reason when it aborts.
   */
  async edit<T>(
    call: PeerCall,
    { directory, sessionId }: { readonly directory: string; readonly sessionId: string },
    prompt: EditedPrompt,
    read: (edited: EditedPrompt) => Promise<T>,
  ): Promise<T | undefined> {
    const isThere = await this.#isThere(call, directory)
    call.signal.throwIfAborted()
    if (!isThere) return undefined
    const { logger } = this.#dependencies
    const { prompt: edited, changedBy } = await this.#callHooks(call, directory, sessionId, prompt)
    if (changedBy.length === 0) return undefined
    try {
      return await read(edited)
    } catch (err) {
      call.signal.throwIfAborted()
      if (!(err instanceof Rejection && NO_PROMPT.has(err.reason))) throw err
      const plugins = changedBy.join(', ')
      logger.warn(
        { err, sessionId, plugins },
        'A prompt is admitted unchanged: the changes by plugins could not be used',
      )
      return undefined
    }
  }

  async #callHooks(
    call: PeerCall,
    directory: string,
    sessionId: string,
    prompt: EditedPrompt,
  ): ReturnType<Catalog['editPrompt']> {
    const { catalog, logger } = this.#dependencies
    try {
      return await catalog.editPrompt(call, directory, sessionId, prompt)
    } catch (err) {
      call.signal.throwIfAborted()
      logger.warn({ err, sessionId }, 'A prompt is admitted unchanged: plugins could not be called')
      return { prompt, changedBy: [] }
    }
  }

  async #isThere({ principal }: PeerCall, directory: string): Promise<boolean> {
    const name = nameOf(principal.workspaceId, directory)
    const answer = this.#knownOf(name)
    if (answer !== undefined) return answer
    // One lookup for all who wait; none of them can abort it for the others.
    const lookup =
      this.#lookups.get(name) ?? this.#lookUp(principal, directory, name).finally(() => this.#lookups.delete(name))
    this.#lookups.set(name, lookup)
    return await lookup
  }

  async #lookUp(principal: PeerCall['principal'], directory: string, name: string): Promise<boolean> {
    const { catalog, clock, logger } = this.#dependencies
    let isThere = false
    try {
      const hooks = await catalog.listHooks({ principal, signal: AbortSignal.timeout(LOOKUP_MS) }, directory)
      isThere = hooks.includes('prompt')
    } catch (err) {
      logger.warn({ err, directory }, 'Prompts are admitted unchanged: it is unknown whether plugins change them')
    }
    this.#answers.delete(name)
    this.#answers.set(name, { isThere, until: clock.monotonic() + KNOWN_MS })
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > MOST_KNOWN && oldest !== undefined) this.#answers.delete(oldest)
    return isThere
  }

  #knownOf(name: string): boolean | undefined {
    const remembered = this.#answers.get(name)
    return remembered !== undefined && remembered.until > this.#dependencies.clock.monotonic()
      ? remembered.isThere
      : undefined
  }
}

function nameOf(workspace: string, directory: string): string {
  return `${workspace}\0${directory}`
}
