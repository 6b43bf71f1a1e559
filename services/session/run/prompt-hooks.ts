import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { Catalog, EditablePrompt } from '../ports/catalog.ts'
import type { PeerCall } from '../ports/peer-call.ts'

interface Dependencies {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly logger: Logger
}

/** How long it is remembered that a location has no hook for prompts, in milliseconds. */
const KNOWN_MS = 1_000
/** How long a location is asked for one; a prompt does not wait longer for what is probably not there. */
const LOOKUP_MS = 2_000
const MOST_KNOWN = 4_096

/** Lets the plugins of a location change prompts before they are admitted. Where none does, that costs a call a second. */
export class PromptHooks {
  readonly #dependencies: Dependencies
  /** Workspace and directory → monotonic time until which it is known that no plugin there changes prompts. */
  readonly #without = new Map<string, number>()
  readonly #lookups = new Map<string, Promise<boolean>>()

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Whether a plugin there may change prompts, for all that is known. */
  mayChange(workspace: string, directory: string): boolean {
    return (this.#without.get(nameOf(workspace, directory)) ?? 0) <= this.#dependencies.clock.monotonic()
  }

  /**
   * What `read` makes of a prompt as the plugins want it; undefined: it goes on as it was, since they do not change it, could not be
   * asked, or want what `read` throws for. Throws the call's reason when that aborts.
   */
  async edit<T>(
    call: PeerCall,
    { directory, sessionId }: { readonly directory: string; readonly sessionId: string },
    prompt: EditablePrompt,
    read: (edited: EditablePrompt) => T,
  ): Promise<T | undefined> {
    if (!(await this.#isThere(call, directory))) return undefined
    const { catalog, logger } = this.#dependencies
    try {
      return read(await catalog.editPrompt(call, directory, sessionId, prompt))
    } catch (err) {
      call.signal.throwIfAborted()
      logger.warn({ err, sessionId }, 'A prompt goes on as it was: what plugins made of it could not be used')
      return undefined
    }
  }

  /** Asks once for all who wait, so that none of them can end it for the others. */
  #isThere({ principal }: PeerCall, directory: string): Promise<boolean> {
    const { catalog, clock } = this.#dependencies
    const name = nameOf(principal.workspaceId, directory)
    const lookup =
      this.#lookups.get(name) ??
      catalog
        .listHooks({ principal, signal: AbortSignal.timeout(LOOKUP_MS) }, directory)
        .then(
          (hooks) => hooks.includes('prompt'),
          () => false,
        )
        .then((isThere) => {
          this.#lookups.delete(name)
          if (!isThere) this.#remember(name, clock.monotonic() + KNOWN_MS)
          return isThere
        })
    this.#lookups.set(name, lookup)
    return lookup
  }

  #remember(name: string, until: number): void {
    this.#without.delete(name)
    this.#without.set(name, until)
    const [oldest] = this.#without.keys()
    if (this.#without.size > MOST_KNOWN && oldest !== undefined) this.#without.delete(oldest)
  }
}

function nameOf(workspace: string, directory: string): string {
  return `${workspace}\0${directory}`
}
