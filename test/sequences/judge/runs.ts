import type { WireMessage } from '#test/support/instance-client.ts'
import { before, beforeTime, CLOCK_MS, mayBeDone } from '../asked.ts'
import type { WireEvent } from '../follow.ts'
import { type SentInput, stoppers } from '../history.ts'
import { isTooLong } from '../step.ts'
import type { Evidence } from './evidence.ts'

/** A run, as the events report it. */
interface Run {
  readonly started: WireEvent
  readonly ended: WireEvent
  readonly outcome: string
  /** Messages that it made: inputs and the model's. */
  readonly messages: readonly WireMessage[]
  /** The inputs that it answers: its own, and those of the run that it continues. */
  readonly inputs: readonly WireMessage[]
  /** Ids of agents and models that were selected when it began or during it. */
  readonly selected: readonly string[]
}

/** Every run ends, as what happened can explain. */
export function judgeRuns(evidence: Evidence): string[] {
  const problems: string[] = []
  const runs = runsOf(evidence, problems)
  for (const run of runs) problems.push(...judgeAnswer(run, evidence))
  return [
    ...problems,
    ...judgeResumed(runs, evidence),
    ...judgeInterrupted(runs, evidence),
    ...judgeWaits(runs, evidence),
    ...judgeStarts(runs, evidence),
  ]
}

function runsOf({ events, messages }: Evidence, problems: string[]): Run[] {
  const byId = new Map(messages.map((message) => [message.id, message]))
  const isInput = ({ type }: WireMessage) => type === 'user' || type === 'synthetic'
  const runs: Run[] = []
  let open: { started: WireEvent; messages: WireMessage[]; selected: string[] } | undefined
  let selected: string[] = []
  for (const event of events) {
    const { type, data } = event
    const ended = /^session\.execution\.(succeeded|failed|interrupted)$/.exec(type)
    if (type === 'session.agent.selected') selected = [...selected.slice(-4), String(data.agent)]
    if (type === 'session.model.selected') selected = [...selected.slice(-4), (data.model as { id: string }).id]
    if (open !== undefined) open.selected = selected
    const message = byId.get(String(type === 'session.inbox.delivered' ? data.inboxID : data.assistantMessageID))
    // A move is no part of a run, whether one goes on or not.
    const makes =
      (type === 'session.inbox.delivered' && message?.type !== 'location-switched') || type === 'session.step.started'
    if (type === 'session.execution.started') {
      if (open !== undefined) problems.push('a run began within a run')
      open = { started: event, messages: [], selected }
    } else if (open === undefined && (makes || ended !== null)) problems.push(`${type} outside of a run`)
    else if (open !== undefined && ended !== null) {
      const former = open.messages[0] === undefined || !isInput(open.messages[0]) ? (runs.at(-1)?.inputs ?? []) : []
      const inputs = [...former, ...open.messages.filter(isInput)]
      runs.push({ ...open, inputs, ended: event, outcome: ended[1] ?? '' })
      open = undefined
    } else if (makes && message !== undefined) open?.messages.push(message)
  }
  if (open !== undefined) problems.push('a run never ended')
  return runs
}

/** Every input is answered, or the run reports why not. */
function judgeAnswer(
  { messages, inputs, outcome, ended, selected }: Run,
  { history, messages: all }: Evidence,
): string[] {
  if (messages.length > 0 && messages.every(({ type }) => type === 'compaction')) return []
  const input = inputs.at(-1)
  if (input === undefined) return ['a run began without an input']
  const last = messages.at(-1)
  const sent = history.inputs.find(({ id, text }) => id === input.id || text === input.text)
  const failing = inputs.some(({ text }) => text?.startsWith('/fail'))
  if (outcome === 'failed') {
    if (failing || selected.includes('nobody') || selected.includes('nothing')) return []
    const { type } = ended.data.error as { type?: string }
    if (type === 'compaction.failed' && selected.includes('echo-small') && isTooLong(sent?.work)) return []
    return [`a run failed without a cause: ${JSON.stringify(ended.data.error)}`]
  }
  if (outcome !== 'succeeded') return []
  if (last?.type !== 'assistant') return [`${input.id} was not answered, and its run is said to have succeeded`]
  if (last.error !== undefined) return [`a run succeeded whose last step failed: ${JSON.stringify(last.error)}`]
  // After a summary, the run goes on with other words.
  const since = all.slice(all.indexOf(input), all.indexOf(last))
  return sent === undefined || since.some(({ type }) => type === 'compaction') ? [] : judgeWords(sent, last)
}

/** A run without an input of its own continues one that was interrupted or has failed, because somebody resumed it. */
function judgeResumed(runs: readonly Run[], { history }: Evidence): string[] {
  const isSummary = ({ type }: WireMessage) => type === 'compaction'
  const without = runs.filter(({ messages }) => messages.every(({ type }) => type === 'assistant'))
  const problems = without.flatMap((run) => {
    const former = runs.slice(0, runs.indexOf(run)).findLast(({ messages }) => !messages.every(isSummary))
    const due = former !== undefined && former.outcome !== 'succeeded'
    return due ? [] : [`a run began (${run.started.durable.seq}) with nothing to go on with`]
  })
  const resumed = history.resumes.filter(mayBeDone).length
  return without.length <= resumed
    ? problems
    : [...problems, `${without.length} runs went on, and ${resumed} were resumed`]
}

function judgeWords({ id, work }: SentInput, { content = [], finish }: WireMessage): string[] {
  if (work.kind === 'fail') return [`${id} was to fail`]
  if (work.kind !== 'words' && work.kind !== 'long') return []
  const words = content.flatMap(({ text = '' }) => text.split(/\s+/).filter((word) => word !== ''))
  // A small model may have no room for more.
  if (work.kind === 'long' && finish === 'length' && words.length < work.count) return []
  return words.length === work.count ? [] : [`${id} was answered with ${words.length} words instead of ${work.count}`]
}

/**
 * What ended a run did not come before it began, and nothing ended two. (When a run really ended is known less
 * precisely: its end was written later than its time says.)
 */
function judgeInterrupted(runs: readonly Run[], { history }: Evidence): string[] {
  const free = stoppers(history)
  const problems: string[] = []
  // What may have ended a later run may have ended an earlier one too.
  for (const { started, outcome } of [...runs].reverse()) {
    if (outcome !== 'interrupted') continue
    const at = free.findIndex((end) => !beforeTime(end, started.created))
    if (at < 0)
      problems.push(`a run was interrupted (${started.durable.seq}) though nobody asked for it since it began`)
    else free.splice(at, 1)
  }
  return problems
}

/** `wait` answers only when nothing runs. */
function judgeWaits(runs: readonly Run[], { history }: Evidence): string[] {
  return history.waits.flatMap(({ sent, answered }) => {
    const run = runs.find(
      ({ started, ended }) => started.created + CLOCK_MS < sent && answered + CLOCK_MS < ended.created,
    )
    return run === undefined ? [] : [`wait answered while a run went on (${run.started.durable.seq})`]
  })
}

/** After an interrupt nothing begins before the session is woken. */
function judgeStarts(runs: readonly Run[], { history }: Evidence): string[] {
  return runs.flatMap(({ started }, i) => {
    const former = runs[i - 1]
    if (former?.outcome !== 'interrupted') return []
    const ends = stoppers(history).filter((end) => !beforeTime(end, former.started.created))
    const [first] = ends.sort((a, b) => a.began - b.began)
    const woken = history.wakes.some((wake) => mayBeDone(wake) && (first === undefined || !before(wake, first)))
    return woken ? [] : [`a run began (${started.durable.seq}) after an interrupt, though nobody woke the session`]
  })
}
