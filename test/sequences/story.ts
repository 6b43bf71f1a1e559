import type { Asked } from './asked.ts'
import type { Evidence } from './judge/evidence.ts'

/** What was requested and what happened, by time: milliseconds since the first request. */
export function storyOf({ history, events }: Pick<Evidence, 'history' | 'events'>): string {
  const { inputs, wakes, interrupts, replies, waits } = history
  const named = [...inputs, ...history.moves].map((one) => one.asked).concat(history.resumes, interrupts)
  const asked = (what: string, { sent, answered, status }: Asked) => ({
    at: sent,
    line: `${what} → ${status} after ${answered - sent}`,
  })
  const lines = [
    ...inputs.map(({ kind, id, delivery, asked: sent }) =>
      asked(`${kind} ${id} ${delivery}${wakes.includes(sent) ? '' : ' parked'}`, sent),
    ),
    ...wakes.filter((wake) => !named.includes(wake)).map((wake) => asked('repeat', wake)),
    ...history.resumes.map((resume) => asked('resume', resume)),
    ...history.moves.map((move) => asked(`move ${move.directory}`, move.asked)),
    ...history.updates.map((update) => asked('update', update.asked)),
    ...history.cancels.map((cancel) => asked(`cancel ${cancel.id}`, cancel.asked)),
    ...history.copies.map((copy) => asked(`${copy.kind} ${copy.info.id}`, copy.asked)),
    ...interrupts.map((interrupt) => asked('interrupt', interrupt)),
    ...replies.map((reply) => asked(`reply ${reply.answer}`, reply.asked)),
    ...waits.map((wait) => asked('wait', wait)),
    ...history.compactions.map(({ asked: sent, id }) => asked(`compact ${id}`, sent)),
    ...history.reloads.map((reload) => asked('reload', reload)),
    ...events
      .filter(({ type }) =>
        /inbox|execution|step\.(started|failed|ended)|permission|renamed|moved|compaction/.test(type),
      )
      .map(({ type, created, durable, data }) => ({
        at: created,
        line: `  ${durable.seq} ${type} ${data.inboxID ?? ''}`,
      })),
  ].sort((a, b) => a.at - b.at)
  return lines.map(({ at, line }) => `${at - (lines[0]?.at ?? 0)}: ${line}`).join('\n      ')
}
