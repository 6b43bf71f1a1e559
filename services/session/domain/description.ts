import type { JsonObject } from '#shared/json.ts'
import { withTotals } from './event.ts'
import type { PermissionRule } from './permission/permission.ts'
import type { Revision } from './revision.ts'
import type { TokenUsage } from './session.ts'
import { FIRST_INPUT } from './session-state.ts'

/** What a client says of a session; what is undefined stays as it is. */
export interface Description {
  readonly title: string | undefined
  readonly metadata: JsonObject | undefined
  readonly permissions: readonly PermissionRule[] | undefined
}

/**
 * Replaces what is given. An empty title has one found: at once where there are `words` to find it from, by the request
 * that is returned, unless one is `underWay`; else after the first input that has some.
 */
export function describeSession(
  revision: Revision,
  description: Description,
  { words, underWay }: { readonly words: boolean; readonly underWay: ReadonlySet<string> },
): string | undefined {
  const { title, metadata, permissions } = description
  if (metadata !== undefined) {
    revision.writes.push({ type: 'describe', metadata })
    revision.event({ type: 'session-metadata-updated', metadata })
    revision.touch()
  }
  if (permissions !== undefined) {
    revision.writes.push({ type: 'describe', permissions })
    revision.event({ type: 'session-permissions-updated', permissions })
    revision.touch()
  }
  if (title === undefined) return undefined
  if (title !== '') {
    revision.set({ titling: undefined })
    rename(revision, title)
    return undefined
  }
  const { titling } = revision.state
  if (titling !== undefined && underWay.has(titling)) return undefined
  revision.set({ titling: FIRST_INPUT })
  return words ? beginTitle(revision) : undefined
}

/** Names the request that is to find the title, where one was to be found after the first input. */
export function beginTitle(revision: Revision): string | undefined {
  if (revision.state.titling !== FIRST_INPUT) return undefined
  const request = `${revision.newMessage().id}-title`
  revision.set({ titling: request })
  return request
}

/** What a call of a model for a title has cost, and the title that it found, if it found one. */
export interface FoundTitle {
  readonly title: string | undefined
  readonly costNanos: bigint
  readonly tokens: TokenUsage
}

/** Counts what a title has cost, and gives it to the session, unless somebody else has since named it, or is to. */
export function finishTitle(revision: Revision, request: string, { title, costNanos, tokens }: FoundTitle): void {
  revision.addUsage(costNanos, tokens)
  revision.event(withTotals({ type: 'usage-recorded', purpose: 'title', costNanos, tokens }, revision.state))
  if (revision.state.titling !== request) return
  revision.set({ titling: undefined })
  if (title !== undefined) rename(revision, title)
}

/** Records which end of a run somebody has seen: never one before, nor one that is still to come. */
export function viewSession(revision: Revision, timeIdle: number): void {
  const { timeIdle: last, timeViewed = 0 } = revision.state
  if (last === undefined) return
  const seen = Math.min(timeIdle, last)
  if (seen <= timeViewed) return
  revision.set({ timeViewed: seen })
  revision.event({ type: 'session-viewed', timeIdle: seen })
}

function rename(revision: Revision, title: string): void {
  revision.writes.push({ type: 'describe', title })
  revision.event({ type: 'session-renamed', title })
  revision.touch()
}
