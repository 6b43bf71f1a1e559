import { before, beforeTime, CLOCK_MS } from '../asked.ts'
import type { WireEvent } from '../follow.ts'
import type { Evidence } from './evidence.ts'

/**
 * What was accepted enters once and in order, and is listed while it waits; what was cancelled in time never enters.
 */
export function judgeInbox(evidence: Evidence): string[] {
  return [...judgeOrder(evidence.events), ...judgeLists(evidence), ...judgeCancels(evidence)]
}

/**
 * Items of one delivery enter in the order of their admission; a queued one never joins a run that goes on, nor does a
 * queued input enter while a steer waits that no control item holds up.
 */
function judgeOrder(events: readonly WireEvent[]): string[] {
  const problems: string[] = []
  const deliveries = new Map<unknown, unknown>()
  const controls = new Set<unknown>()
  const waiting: Record<string, unknown[]> = { steer: [], queue: [] }
  const admitted: unknown[] = []
  let [queued, stepped] = [0, false]
  for (const { type, data } of events) {
    if (type === 'session.inbox.enqueued') {
      const { delivery, type: kind } = data.item as { delivery: string; type: string }
      if (deliveries.has(data.inboxID)) problems.push(`${data.inboxID} was enqueued twice`)
      if (kind === 'move' || kind === 'compaction') controls.add(data.inboxID)
      deliveries.set(data.inboxID, delivery)
      admitted.push(data.inboxID)
      waiting[delivery]?.push(data.inboxID)
    } else if (type === 'session.inbox.cancelled' || type === 'session.inbox.delivery.changed') {
      const former = waiting[String(deliveries.get(data.inboxID))] ?? []
      if (!former.includes(data.inboxID)) problems.push(`${type} of ${data.inboxID}, which does not wait`)
      former.splice(former.indexOf(data.inboxID), 1)
      if (type === 'session.inbox.cancelled') continue
      deliveries.set(data.inboxID, data.delivery)
      const next = waiting[String(data.delivery)]
      next?.push(data.inboxID)
      next?.sort((a, b) => admitted.indexOf(a) - admitted.indexOf(b))
    } else if (type === 'session.inbox.delivered') {
      const delivery = String(deliveries.get(data.inboxID))
      const first = waiting[delivery]?.shift()
      if (first !== data.inboxID) problems.push(`${data.inboxID} (${delivery}) ran before ${first}, or twice`)
      if (delivery === 'queue' && ++queued > 1) problems.push(`${data.inboxID} ran together with another queued item`)
      if (delivery === 'queue' && stepped) problems.push(`${data.inboxID} (queue) joined a run that went on`)
      const [steer] = waiting.steer ?? []
      if (delivery === 'queue' && !controls.has(data.inboxID) && steer !== undefined && !controls.has(steer))
        problems.push(`${data.inboxID} (queue) entered while ${steer} (steer) waited`)
      // A control item enters alone, and what comes next is at a boundary of its own.
      if (controls.has(data.inboxID)) queued = 0
    } else if (type === 'session.step.started' || type.startsWith('session.execution.')) {
      queued = 0
      stepped = type === 'session.step.started'
    }
  }
  return problems
}

const ENDS = ['session.inbox.delivered', 'session.inbox.cancelled']

/** A list has everything that waited all the time, and nothing that waited at no time, in the order of admission. */
function judgeLists({ history, events, clockMs }: Evidence): string[] {
  const admissions = events.filter(({ type }) => type === 'session.inbox.enqueued')
  const ends = new Map(
    events.flatMap(({ type, data, created }) => (ENDS.includes(type) ? [[data.inboxID, created]] : [])),
  )
  return history.inboxes.flatMap(({ asked, ids }) => {
    const must: unknown[] = []
    const may: unknown[] = []
    for (const { data, created } of admissions) {
      const ended = ends.get(data.inboxID) ?? Infinity
      if (created + clockMs < asked.sent && asked.answered + clockMs < ended) must.push(data.inboxID)
      if (created <= asked.answered + clockMs && asked.sent <= ended + clockMs) may.push(data.inboxID)
    }
    const inOrder = may.filter((id) => ids.includes(String(id)))
    if (must.every((id) => ids.includes(String(id))) && inOrder.join() === ids.join()) return []
    return [`the inbox was said to have ${ids.join() || 'nothing'}; of ${may.join()} these waited: ${must.join()}`]
  })
}

/** Once the cancellation of an accepted input is confirmed, it never runs; and no answer says that it will. */
function judgeCancels({ history, events }: Evidence): string[] {
  const repeated = history.repeats.flatMap(({ asked, id }) => {
    const gone = events.find(({ type, data }) => type === 'session.inbox.cancelled' && data.inboxID === id)
    const accepted = asked.status === 200 && gone !== undefined && gone.created + CLOCK_MS < asked.sent
    return accepted ? [`${id} was cancelled, and accepted when it was sent again`] : []
  })
  const entered = history.cancels.flatMap(({ asked, id }) => {
    const accepted = history.inputs.some((sent) => sent.id === id && before(sent.asked, asked))
    const entered = events.find(({ type, data }) => type === 'session.inbox.delivered' && data.inboxID === id)
    const late = entered !== undefined && asked.status === 204 && beforeTime(asked, entered.created)
    return accepted && late ? [`${id} was cancelled, and entered the conversation later`] : []
  })
  return [...repeated, ...entered]
}
