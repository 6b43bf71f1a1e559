import { isDeepStrictEqual } from 'node:util'
import type { WireMessage } from '#test/support/instance-client.ts'
import { type Copy, valuesDuring } from '../history.ts'
import type { Evidence } from './evidence.ts'

/** Forks and exports have the settled history of their time, and the session's description at that time. */
export function judgeCopies(evidence: Evidence): string[] {
  const { history, messages, clockMs } = evidence
  const refused = history.emptyForks.flatMap(({ sent }) => {
    const first = messages.find((message) => settledAt(message) + clockMs < sent)
    return first === undefined ? [] : [`a fork was refused as empty, though ${first.id} was there`]
  })
  return [
    ...refused,
    ...history.copies.flatMap((copy) =>
      [...judgeMessages(copy, evidence), ...judgeInfo(copy, evidence)].map(
        (problem) => `the ${copy.kind} ${copy.info.id} ${problem}`,
      ),
    ),
  ]
}

function judgeMessages(copy: Copy, { messages, clockMs }: Evidence): string[] {
  const isFork = copy.kind === 'fork'
  const history = isFork ? upToBoundary(copy, messages) : messages
  if (history === undefined) return [`ends at a message that is not there: ${JSON.stringify(copy.info.fork)}`]
  const problems: string[] = []
  let at = 0
  for (const message of history) {
    const copied = copy.messages[at]
    if (copied !== undefined && isDeepStrictEqual(isFork ? { ...copied, id: message.id } : copied, message)) at++
    else if (settledAt(message) + clockMs < copy.asked.sent) problems.push(`lacks ${message.type} ${message.id}`)
  }
  if (at < copy.messages.length)
    problems.push(`has what its history has not: ${JSON.stringify(copy.messages[at]).slice(0, 500)}`)
  const ids = new Set([...copy.messages, ...(isFork ? messages : [])].map(({ id }) => id))
  if (ids.size !== copy.messages.length + (isFork ? messages.length : 0)) problems.push('uses an id twice')
  return problems
}

function upToBoundary({ info, before }: Copy, messages: readonly WireMessage[]): readonly WireMessage[] | undefined {
  const { boundary } = info.fork ?? {}
  const at = messages.findIndex(({ id }) => id === boundary?.messageID)
  if (at < 0) return undefined
  if (before === undefined) return boundary?.type === 'through' ? messages.slice(0, at + 1) : undefined
  return boundary?.type === 'before' && boundary.messageID === before ? messages.slice(0, at) : undefined
}

/** The moment from which it is part of every copy. */
function settledAt({ type, time }: WireMessage): number {
  if (type === 'compaction') return Infinity
  return type === 'assistant' ? (time.completed ?? Infinity) : time.created
}

function judgeInfo({ kind, info, asked }: Copy, { history, events, home, first, clockMs }: Evidence): string[] {
  const problems: string[] = []
  const hold = (name: string, value: unknown, values: readonly unknown[]) => {
    if (!values.some((one) => isDeepStrictEqual(one, value)))
      problems.push(`has ${name} ${JSON.stringify(value)}, and not one of ${JSON.stringify(values)}`)
  }
  const during = (type: string, member: string, begin: unknown) =>
    valuesDuring(events, asked, clockMs, begin, (event) => (event.type === type ? event.data[member] : undefined))
  hold('agent', info.agent, during('session.agent.selected', 'agent', undefined))
  hold('model', info.model, during('session.model.selected', 'model', undefined))
  hold('metadata', info.metadata, during('session.metadata.updated', 'metadata', undefined))
  hold('permissions', info.permissions, during('session.permissions', 'permissions', first))
  hold('location', info.location, during('session.moved', 'location', { directory: home }))
  const titles = during('session.renamed', 'title', undefined)
  if (kind === 'export') {
    hold('title', info.title, titles)
    return problems
  }
  hold(
    'title',
    info.title,
    titles.map((title) => (title === undefined ? undefined : `${title} (fork #1)`)),
  )
  hold('source', info.fork?.sessionID, [history.sessionId])
  hold('cost', info.cost, [0])
  hold('tokens', info.tokens, [{ input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }])
  hold(
    'parent, outcome and times of runs',
    [info.parentID, info.outcome, info.time.idle, info.time.viewed],
    [[undefined, undefined, undefined, undefined]],
  )
  return problems
}
