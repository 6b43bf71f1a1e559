import type { Revision } from '#services/session/domain/revision.ts'

/** How long a session may be active without getting another place in an index of titles. */
export const HOUR_MS = 3_600_000

/** The hour of a time, counted since the epoch. */
export function hourOf(time: number): number {
  return Math.floor(time / HOUR_MS)
}

/** Whether a session needs another place: its title, what lists filter by, or the hour of its last activity changes. */
export function movesTitle({ before, state, writes }: Revision): boolean {
  return (
    hourOf(before.timeUpdated) !== hourOf(state.timeUpdated) ||
    before.directory !== state.directory ||
    before.projectId !== state.projectId ||
    before.subpath !== state.subpath ||
    writes.some((write) => write.type === 'describe' && write.title !== undefined)
  )
}
