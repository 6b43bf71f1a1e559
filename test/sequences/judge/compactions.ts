import type { WireMessage } from '#test/support/instance-client.ts'
import { mayBeDone } from '../asked.ts'
import { isTooLong } from '../step.ts'
import type { Evidence } from './evidence.ts'

/**
 * Every requested summary is one message, which ended once, as what happened can explain; another one is made only for
 * a small model.
 */
export function judgeCompactions({ history, messages, events, takenOver }: Evidence): string[] {
  const problems: string[] = []
  const asked = history.compactions.filter(({ asked }) => mayBeDone(asked))
  const made = messages.filter(({ type }) => type === 'compaction')
  for (const { id } of asked)
    if (id !== undefined && !made.some((message) => message.id === id)) problems.push(`the compaction ${id} is lost`)
  const manual = made.filter(({ reason }) => reason === 'manual')
  if (manual.length > asked.length) problems.push(`${manual.length} compactions were made of ${asked.length}`)
  const models = events.flatMap(({ type, data }) =>
    type === 'session.model.selected' ? [(data.model as { id: string }).id] : [],
  )
  // It says the model, where the session does not.
  const isAgentGone = events.some(({ type, data }) => type === 'session.agent.selected' && data.agent === 'nobody')
  if (!models.includes('echo-small') && made.length > manual.length)
    problems.push('a compaction nobody asked for, with a model of any length')
  const isAnyTooLong = history.inputs.some(({ work }) => isTooLong(work))
  let isAnswered = false
  for (const message of messages) {
    const { id, type, status, reason, summary, error } = message
    if (type === 'assistant' && !cameToNothing(message)) isAnswered = true
    if (type !== 'compaction') continue
    const ends = events.filter(({ type, data }) => data.messageID === id && /compaction\.(ended|failed)$/.test(type))
    const said = ends.map(({ type }) => type.replace('session.compaction.', '')).join()
    if (said !== (status === 'completed' ? 'ended' : 'failed'))
      problems.push(`the compaction ${id} is ${status}, its events say ${said}`)
    if (status === 'completed' && summary === '') problems.push(`the compaction ${id} says nothing`)
    const isExplained =
      (error?.type === 'aborted' && takenOver) ||
      (error?.type === 'compaction.interrupted' && history.interrupts.some(mayBeDone)) ||
      (error?.type === 'compaction.empty' && !isAnswered) ||
      (error?.type === 'compaction.failed' &&
        (reason === 'manual' ? models.includes('nothing') || isAgentGone : isAnyTooLong))
    if (status === 'failed' && !isExplained) problems.push(`the compaction ${id} failed: ${JSON.stringify(error)}`)
    if (status === 'completed') isAnswered = false
  }
  return problems
}

/** A step that was cut off, or failed without calls, leaves its input open. */
function cameToNothing({ error, time, content = [] }: WireMessage): boolean {
  return error !== undefined && (time.streamed === undefined || content.every(({ type }) => type !== 'tool'))
}
