import { isDeepStrictEqual } from 'node:util'
import { before, mayBeDone } from '../asked.ts'
import type { WireEvent } from '../follow.ts'
import type { Tokens } from '../history.ts'
import type { Evidence } from './evidence.ts'

/**
 * The description of the session is the last one set; moves and updates are applied once each; and the totals are sums.
 */
export function judgeChanges(evidence: Evidence): string[] {
  return [
    ...judgeUpdates(evidence),
    ...judgeTitles(evidence),
    ...judgeMoves(evidence),
    ...judgeInfo(evidence),
    ...judgeTotals(evidence),
  ]
}

const UPDATES = [
  { type: 'session.renamed', member: 'title' },
  { type: 'session.metadata.updated', member: 'metadata' },
  { type: 'session.permissions', member: 'permissions' },
] as const

function judgeUpdates({ history, events }: Evidence): string[] {
  const problems: string[] = []
  for (const { type, member } of UPDATES) {
    const own = events.filter((event) => event.type === type)
    const sent = history.updates.filter((update) => update[member] !== undefined && update[member] !== '')
    const placeOf = (value: unknown) => own.findIndex(({ data }) => isDeepStrictEqual(data[member], value))
    for (const update of sent) {
      const times = own.filter(({ data }) => isDeepStrictEqual(data[member], update[member])).length
      if (times > 1 || (times === 0 && update.asked.status === 204) || (times === 1 && !mayBeDone(update.asked)))
        problems.push(`the update of ${member} ${JSON.stringify(update[member])} was made ${times} times`)
      const later = sent.find((other) => before(update.asked, other.asked) && other.asked.status === 204)
      if (later !== undefined && placeOf(update[member]) > placeOf(later[member]))
        problems.push(`the update of ${member} ${JSON.stringify(update[member])} was made after a later one`)
    }
    const known = new Set(sent.map((update) => JSON.stringify(update[member])))
    const others = own.filter(({ data }) => !known.has(JSON.stringify(data[member])))
    if (member !== 'title' && others.length > 0) problems.push(`${member} was changed though nobody asked for it`)
  }
  return problems
}

/** The server generates a title once, and once for each request to; never where a client has set one. */
function judgeTitles({ history, events }: Evidence): string[] {
  const own = new Set(history.updates.map(({ title }) => title))
  const wanted = history.updates.filter(({ title, asked }) => title === '' && mayBeDone(asked))
  const found = events.filter(({ type, data }) => type === 'session.renamed' && !own.has(String(data.title)))
  const problems: string[] = []
  if (found.length > 1 + wanted.length) problems.push(`a title was found ${found.length} times`)
  for (const { durable } of found) {
    const former = events.findLast(({ type, durable: { seq } }) => type === 'session.renamed' && seq < durable.seq)
    const named = history.updates.find(
      ({ title }) => title !== '' && title !== undefined && title === former?.data.title,
    )
    if (named !== undefined && wanted.every(({ asked }) => before(asked, named.asked)))
      problems.push(`the title ${named.title} gave way to one that nobody asked for`)
  }
  return problems
}

/** Each move is admitted once, and enters the conversation or is cancelled. */
function judgeMoves({ history, events }: Evidence): string[] {
  const problems: string[] = []
  const enqueued = events.filter(({ type, data }) => type === 'session.inbox.enqueued' && itemOf(data).type === 'move')
  for (const directory of new Set(history.moves.map((move) => move.directory))) {
    const sent = history.moves.filter((move) => move.directory === directory)
    const least = sent.filter(({ asked }) => asked.status === 204).length
    const most = sent.filter(({ asked }) => mayBeDone(asked)).length
    const made = enqueued.filter(({ data }) => itemOf(data).payload.location?.directory === directory).length
    if (made < least || made > most) problems.push(`moves to ${directory}: ${least} to ${most}, and ${made} admitted`)
  }
  for (const { data } of enqueued) {
    const ends = events.filter(
      ({ type, data: end }) =>
        (type === 'session.inbox.delivered' || type === 'session.inbox.cancelled') && end.inboxID === data.inboxID,
    )
    if (ends.length !== 1) problems.push(`the move ${data.inboxID} was admitted, and made ${ends.length} times`)
  }
  return problems
}

interface Item {
  readonly type: string
  readonly payload: { readonly location?: { readonly directory: string } }
}

function itemOf(data: WireEvent['data']): Item {
  return data.item as Item
}

function judgeInfo({ info, events, first, home, messages }: Evidence): string[] {
  const last = (type: string, member: string, begin: unknown): unknown =>
    events.findLast((event) => event.type === type)?.data[member] ?? begin
  const idle = messages.findLast(({ type }) => type === 'idle')
  const expected = {
    agent: last('session.agent.selected', 'agent', undefined),
    model: last('session.model.selected', 'model', undefined),
    title: last('session.renamed', 'title', undefined),
    metadata: last('session.metadata.updated', 'metadata', undefined),
    permissions: last('session.permissions', 'permissions', first),
    location: last('session.moved', 'location', { directory: home }),
    outcome: idle?.outcome,
  }
  const problems: string[] = []
  for (const [name, value] of Object.entries(expected)) {
    if (!isDeepStrictEqual(info[name], value))
      problems.push(`the session has ${name} ${JSON.stringify(info[name])}, its events say ${JSON.stringify(value)}`)
  }
  const { idle: ended = 0, viewed = 0 } = info.time
  if (viewed > ended) problems.push('what is still to come was viewed')
  return problems
}

/** What steps and titles used. */
function judgeTotals({ info, messages, events }: Evidence): string[] {
  const used = [
    ...(messages as readonly { readonly tokens?: Tokens }[]),
    ...events.flatMap(({ type, data }) =>
      type === 'session.usage.recorded' && data.source !== 'compaction' ? [data as { tokens?: Tokens }] : [],
    ),
  ].map(({ tokens }) => tokens)
  const total = sumOf(used)
  if (isDeepStrictEqual(info.tokens, total)) return []
  return [`the session used ${JSON.stringify(info.tokens)}, its steps and titles ${JSON.stringify(total)}`]
}

export function sumOf(all: readonly (Tokens | undefined)[]): Tokens {
  const sum = (pick: (tokens: Tokens) => number) =>
    all.reduce((total, tokens) => total + (tokens === undefined ? 0 : pick(tokens)), 0)
  return {
    input: sum((each) => each.input),
    output: sum((each) => each.output),
    reasoning: sum((each) => each.reasoning),
    cache: { read: sum((each) => each.cache.read), write: sum((each) => each.cache.write) },
  }
}
