import type { WireMessage } from '#test/support/instance-client.ts'
import type { WireEvent } from './follow.ts'
import type { History } from './history.ts'
import { judgeRuns } from './judge-runs.ts'
import { judgeTools } from './judge-tools.ts'

/** What is known of a session when everything is over. */
export interface Evidence {
  readonly history: History
  readonly messages: readonly WireMessage[]
  readonly events: readonly WireEvent[]
  /** What its tools wrote, by line. */
  readonly lines: readonly string[]
  /** Whether a run may have been taken over from an owner that could not write any more. */
  readonly takenOver: boolean
}

/** Holds a session to the contract; answers what is wrong. */
export function judge(evidence: Evidence): string[] {
  return [...judgePrompts(evidence), ...judgeStory(evidence), ...judgeRuns(evidence), ...judgeTools(evidence)]
}

/** Everything that was accepted is one message, with what was sent, in order; and nothing else is there. */
function judgePrompts({ history, messages, events }: Evidence): string[] {
  const problems: string[] = []
  const ids = messages.map(({ id }) => id)
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) problems.push(`${id} is there twice`)
  const users = messages.filter(({ type }) => type === 'user')
  const gone = new Set(events.flatMap(({ type, data }) => (type === 'session.inbox.cancelled' ? [data.inboxID] : [])))
  for (const { id, text, accepted } of history.prompts) {
    if (!accepted || id === undefined) continue
    const found = users.find((user) => user.id === id)
    if (gone.has(id)) {
      if (found !== undefined) problems.push(`${id} was cancelled and has run`)
    } else if (found === undefined) problems.push(`${id} was accepted and is lost`)
    else if (found.text !== text) problems.push(`${id} has another text than it was accepted with`)
  }
  const unknown = history.prompts.filter(({ accepted }) => !accepted).map(({ text }) => text)
  for (const { id, text } of users) {
    if (history.prompts.some((prompt) => prompt.accepted && prompt.id === id)) continue
    const at = unknown.indexOf(text ?? '')
    if (at < 0) problems.push(`${id} is a message that nobody sent, or that was sent once and is there twice`)
    else unknown.splice(at, 1)
  }
  return [...problems, ...judgeOrder(events)]
}

/** Prompts of one delivery run in the order of their admission; a queued one never joins a run that goes on. */
function judgeOrder(events: readonly WireEvent[]): string[] {
  const problems: string[] = []
  const deliveries = new Map<unknown, unknown>()
  const waiting: Record<string, unknown[]> = { steer: [], queue: [] }
  const admitted: unknown[] = []
  let [queued, stepped] = [0, false]
  for (const { type, data } of events) {
    if (type === 'session.inbox.enqueued') {
      const { delivery } = data.item as { delivery: string }
      if (deliveries.has(data.inboxID)) problems.push(`${data.inboxID} was enqueued twice`)
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
      if (delivery === 'queue' && ++queued > 1) problems.push(`${data.inboxID} ran together with another queued prompt`)
      if (delivery === 'queue' && stepped) problems.push(`${data.inboxID} (queue) joined a run that went on`)
    } else if (type === 'session.step.started' || type.startsWith('session.execution.')) {
      queued = 0
      stepped = type === 'session.step.started'
    }
  }
  return problems
}

/** Events and messages say the same, in the same order. */
function judgeStory({ messages, events }: Evidence): string[] {
  const reported = events.flatMap(({ type, data }) => {
    if (type === 'session.inbox.delivered') return [`user ${data.inboxID}`]
    if (type === 'session.step.started') return [`assistant ${data.assistantMessageID} ${data.agent}`]
    if (type === 'session.agent.selected') return [`agent-switched ${data.agent}`]
    if (type === 'session.model.selected') return [`model-switched ${(data.model as { id: string }).id}`]
    const ended = /^session\.execution\.(succeeded|failed|interrupted)$/.exec(type)
    return ended === null ? [] : [`idle ${ended[1]} ${(data.error as { type: string } | undefined)?.type ?? ''}`]
  })
  const shown = messages.map((message) => {
    const { type, id, agent, model, outcome, error } = message as WireMessage & {
      agent?: string
      model?: { id: string }
    }
    if (type === 'user') return `user ${id}`
    if (type === 'assistant') return `assistant ${id} ${agent}`
    if (type === 'agent-switched') return `agent-switched ${agent}`
    if (type === 'model-switched') return `model-switched ${model?.id}`
    return `${type} ${outcome} ${error?.type ?? ''}`
  })
  const at = shown.findIndex((line, i) => line !== reported[i])
  if (at < 0 && shown.length === reported.length) return judgeSteps(messages, events)
  const i = at < 0 ? shown.length : at
  return [`events say “${reported[i]}” where the messages have “${shown[i]}” (place ${i} of ${shown.length})`]
}

function judgeSteps(messages: readonly WireMessage[], events: readonly WireEvent[]): string[] {
  const problems: string[] = []
  for (const message of messages) {
    if (message.type !== 'assistant') continue
    const own = events.filter(({ data }) => data.assistantMessageID === message.id)
    const { finish } = message as WireMessage & { finish?: string }
    if (message.time.completed === undefined) problems.push(`step ${message.id} never ended`)
    const ends = own.filter(({ type }) => type === 'session.step.ended' || type === 'session.step.failed')
    const reported = ends.map(
      ({ type, data }) => `${type} ${data.finish} ${(data.error as { type: string } | undefined)?.type}`,
    )
    const how = message.error === undefined ? 'ended' : 'failed'
    const shown = `session.step.${how} ${finish} ${message.error?.type}`
    if (reported.length !== 1 || reported[0] !== shown)
      problems.push(`step ${message.id} is “${shown}”, its events say ${JSON.stringify(reported)}`)
    for (const { type, id, state } of message.content ?? []) {
      if (type !== 'tool') continue
      const calls = own.filter(({ data }) => data.id === id).map(({ type }) => type)
      const settled = calls.filter((call) => call === 'session.tool.success' || call === 'session.tool.failed')
      const expected = state?.status === 'completed' ? 'session.tool.success' : 'session.tool.failed'
      if (settled.length !== 1 || settled[0] !== expected)
        problems.push(`call ${id} of ${message.id} is ${state?.status}, its events say ${JSON.stringify(calls)}`)
      if (calls.filter((call) => call === 'session.tool.called').length > 1)
        problems.push(`call ${id} of ${message.id} was called twice`)
    }
    const whole = own.filter(({ type }) => type === 'session.text.ended').map(({ data }) => data.text)
    const texts = (message.content ?? []).filter(({ type }) => type === 'text').map(({ text }) => text)
    const retried = own.some(({ type }) => type === 'session.retry.scheduled')
    if (message.error === undefined && !retried && JSON.stringify(whole) !== JSON.stringify(texts))
      problems.push(`the events say another text of ${message.id}`)
  }
  return problems
}
