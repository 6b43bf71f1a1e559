import type { Revision } from '#services/session/domain/revision.ts'

/** A session may be active for so long without another place in an index of titles. */
export const HOUR_MS = 3_600_000

/** The hour of a time, counted since the epoch. */
export function hourOf(time: number): number {
  return Math.floor(time / HOUR_MS)
}

/** Whether what a session is found by changes, or the hour of its last activity. */
export function movesTitle({ before, state, writes }: Revision): boolean {
  return (
    hourOf(before.timeUpdated) !== hourOf(state.timeUpdated) ||
    before.directory !== state.directory ||
    before.projectId !== state.projectId ||
    before.subpath !== state.subpath ||
    writes.some((write) => write.type === 'describe' && write.title !== undefined)
  )
}
