import type { PermissionRuleset, TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { withTotals } from './event.ts'
import type { Revision } from './revision.ts'
import { FIRST_INPUT } from './session-state.ts'

/** A client's changes to the description of a session; undefined members stay as they are. */
export interface Description {
  readonly title: string | undefined
  readonly metadata: JsonObject | undefined
  readonly permissions: PermissionRuleset | undefined
}

/**
 * Replaces the given members. An empty title requests that one be found: at once if there are `words` to find it from,
 * by the request whose id is returned, unless one is `underWay`; else after the first input with text.
 */
export function describeSession(
  revision: Revision,
  description: Description,
  { words, underWay }: { readonly words: boolean; readonly underWay: ReadonlySet<string> },
): string | undefined {
  const { title, metadata, permissions } = description
  if (metadata !== undefined) {
    revision.writes.push({ type: 'describe', metadata })
    revision.event({ case: 'sessionMetadataUpdated', value: { metadata } })
    revision.touch()
  }
  if (permissions !== undefined) {
    revision.writes.push({ type: 'describe', permissions })
    revision.event({ case: 'sessionPermissionsUpdated', value: { permissions } })
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

/** Returns the id of the title request, if a title was to be found after the first input. */
export function beginTitle(revision: Revision): string | undefined {
  if (revision.state.titling !== FIRST_INPUT) return undefined
  const request = `${revision.newMessage().messageId}-title`
  revision.set({ titling: request })
  return request
}

/** The cost of a call for a title, and the title, if one was found. */
export interface FoundTitle {
  readonly title: string | undefined
  readonly costNanos: bigint
  readonly tokens: TokenUsage
}

/** Adds the cost of a title, and sets the title unless it was changed or requested again in the meantime. */
export function finishTitle(revision: Revision, request: string, { title, costNanos, tokens }: FoundTitle): void {
  revision.addUsage(costNanos, tokens)
  revision.event(withTotals({ case: 'usageRecorded', value: { source: 'title', costNanos, tokens } }, revision.state))
  if (revision.state.titling !== request) return
  revision.set({ titling: undefined })
  if (title !== undefined) rename(revision, title)
}

/** Records which end of a run was seen: never an earlier one than before, nor a future one. */
export function viewSession(revision: Revision, idleTime: number): void {
  const { idleTime: last, viewTime = 0 } = revision.state
  if (last === undefined) return
  const seen = Math.min(idleTime, last)
  if (seen <= viewTime) return
  revision.set({ viewTime: seen })
  revision.event({ case: 'sessionViewed', value: { idleTime: seen } })
}

function rename(revision: Revision, title: string): void {
  revision.writes.push({ type: 'describe', title })
  revision.event({ case: 'sessionRenamed', value: { title } })
  revision.touch()
}
