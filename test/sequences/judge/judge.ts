import { isDeepStrictEqual } from 'node:util'
import type { WireMessage } from '#test/support/instance-client.ts'
import type { WireEvent } from '../follow.ts'
import { judgeChanges } from './changes.ts'
import { judgeCompactions } from './compactions.ts'
import { judgeCopies } from './copies.ts'
import type { Evidence } from './evidence.ts'
import { judgeInbox } from './inbox.ts'
import { judgeLogs } from './logs.ts'
import { judgePermissions } from './permissions.ts'
import { judgeRuns } from './runs.ts'
import { judgeTools } from './tools.ts'

/** Checks a session against the contract; returns the problems. */
export function judge(evidence: Evidence): string[] {
  return [
    ...[...judgeInputs(evidence), ...judgeStory(evidence), ...judgeTyped(evidence)],
    ...[...judgeRuns(evidence), ...judgeTools(evidence), ...judgePermissions(evidence)],
    ...judgeCompactions(evidence),
    ...[...judgeInbox(evidence), ...judgeChanges(evidence), ...judgeCopies(evidence), ...judgeLogs(evidence)],
  ]
}

/** Everything that was accepted is one message, with what was sent, in order; and there is nothing else. */
function judgeInputs({ history, messages, events }: Evidence): string[] {
  const problems: string[] = []
  const ids = messages.map(({ id }) => id)
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) problems.push(`${id} is there twice`)
  const inputs = messages.filter(({ type }) => type === 'user' || type === 'synthetic')
  const gone = new Set(events.flatMap(({ type, data }) => (type === 'session.inbox.cancelled' ? [data.inboxID] : [])))
  for (const { kind, id, text, accepted } of history.inputs) {
    if (!accepted || id === undefined) continue
    const found = inputs.find((input) => input.id === id)
    if (gone.has(id)) {
      if (found !== undefined) problems.push(`${id} was cancelled and has run`)
    } else if (found === undefined) problems.push(`${id} was accepted and is lost`)
    else if (found.text !== text || found.type !== kind) problems.push(`${id} is not what was accepted`)
  }
  const unknown = history.inputs.filter(({ accepted }) => !accepted).map(({ text }) => text)
  for (const { id, text } of inputs) {
    if (history.inputs.some((sent) => sent.accepted && sent.id === id)) continue
    const at = unknown.indexOf(text ?? '')
    if (at < 0) problems.push(`${id} is a message that nobody sent, or that was sent once and is there twice`)
    else unknown.splice(at, 1)
  }
  return problems
}

/** The list of messages of a type contains all messages of that type. */
function judgeTyped({ messages, typed }: Evidence): string[] {
  return [...typed].flatMap(([type, found]) => {
    const expected = messages.filter((message) => message.type === type)
    return isDeepStrictEqual(found, expected)
      ? []
      : [`${found.length} messages of ${expected.length} are listed as ${type}`]
  })
}

/** Events and messages agree, in the same order. */
function judgeStory({ messages, events }: Evidence): string[] {
  const kinds = new Map<unknown, string>()
  const begun = new Set<unknown>()
  const reported = events.flatMap(({ type, data }) => {
    if (type === 'session.inbox.enqueued') kinds.set(data.inboxID, (data.item as { type: string }).type)
    const kind = kinds.get(data.inboxID)
    if (type === 'session.inbox.delivered')
      return kind === 'move' || kind === 'compaction' ? [] : [`${kind} ${data.inboxID}`]
    if (/^session\.compaction\.(started|failed)$/.test(type) && !begun.has(data.messageID)) {
      begun.add(data.messageID)
      return [`compaction ${data.messageID}`]
    }
    if (type === 'session.moved') return [`location-switched ${(data.location as { directory: string }).directory}`]
    if (type === 'session.step.started') return [`assistant ${data.assistantMessageID} ${data.agent}`]
    if (type === 'session.agent.selected') return [`agent-switched ${data.agent}`]
    if (type === 'session.model.selected') return [`model-switched ${(data.model as { id: string }).id}`]
    const ended = /^session\.execution\.(succeeded|failed|interrupted)$/.exec(type)
    return ended === null ? [] : [`idle ${ended[1]} ${(data.error as { type: string } | undefined)?.type ?? ''}`]
  })
  const shown = messages.map((message) => {
    const { type, id, agent, model, outcome, error, location } = message as WireMessage & {
      agent?: string
      model?: { id: string }
      location?: { directory: string }
    }
    if (type === 'user' || type === 'synthetic' || type === 'compaction') return `${type} ${id}`
    if (type === 'location-switched') return `location-switched ${location?.directory}`
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
    const { finish } = message
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
