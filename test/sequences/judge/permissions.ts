import { isDeepStrictEqual } from 'node:util'
import { before, mayBeDone } from '../asked.ts'
import { RULES, tokenOf } from '../commands.ts'
import type { WireEvent } from '../follow.ts'
import type { RuleSet } from '../step.ts'
import type { Evidence } from './evidence.ts'

/** Nothing runs that the rules of its time deny, nor anything that needed permission and was not allowed. */
export function judgePermissions(evidence: Evidence): string[] {
  return [...judgeCalls(evidence), ...judgeApprovals(evidence)]
}

function judgeCalls(evidence: Evidence): string[] {
  return evidence.messages.flatMap(({ id, content = [] }) =>
    content.flatMap((part) => {
      const { input } = (part.state ?? {}) as { input?: { command?: string } }
      const command = input?.command
      if (part.state?.status !== 'completed' || command === undefined || tokenOf({ command }) === undefined) return []
      return judgeCall(evidence, id, String(part.id), command)
    }),
  )
}

function judgeCall({ events, history }: Evidence, messageId: string, callId: string, command: string): string[] {
  const sets = rulesOf(events, messageId, callId)
  if (command.endsWith('# deny-me') && !sets.has('open')) return [`${command} ran though it is denied`]
  if (sets.has('open') || (sets.has('strict') && !command.endsWith('# ask-me'))) return []
  const asked = events.some(({ type, data }) => {
    const source = data.source as { messageID?: string; id?: string } | undefined
    return type === 'permission.asked' && source?.messageID === messageId && source.id === callId
  })
  const saved = history.replies.some(
    (reply) => reply.answer === 'always' && mayBeDone(reply.asked) && reply.saves.includes(command),
  )
  return asked || saved ? [] : [`${command} ran, and nobody was asked`]
}

/** A step sees the rules as they were at some time between one of these and itself. */
const BOUNDARY = /^session\.(execution\.started|step\.(ended|failed)|inbox\.delivered|moved)$/

/** The sets of rules that may have applied to a call. */
function rulesOf(events: readonly WireEvent[], messageId: string, callId: string): Set<RuleSet> {
  const started = events.findIndex(
    ({ type, data }) => type === 'session.step.started' && data.assistantMessageID === messageId,
  )
  const ended = events.findIndex(({ type, data }) => type === 'session.tool.success' && data.id === callId)
  const from = events.findLastIndex(({ type }, i) => i < started && BOUNDARY.test(type))
  const sets = new Set<RuleSet>()
  let current: RuleSet = 'strict'
  for (const [i, { type, data }] of events.slice(0, ended).entries()) {
    if (i === from) sets.add(current)
    if (type !== 'session.permissions') continue
    const own = (data.permissions as readonly unknown[]).slice(1)
    current = (Object.keys(RULES) as RuleSet[]).find((set) => isDeepStrictEqual(RULES[set], own)) ?? 'strict'
    if (i > from) sets.add(current)
  }
  return sets
}

/** What was allowed for good is saved until it is withdrawn, and nothing else is. */
function judgeApprovals({ history, approvals }: Evidence): string[] {
  const problems: string[] = []
  const replies = history.replies.filter(({ answer }) => answer === 'always')
  for (const resource of new Set([...approvals, ...replies.flatMap(({ saves }) => saves)])) {
    const saved = replies.filter((reply) => reply.saves.includes(resource) && mayBeDone(reply.asked))
    const taken = history.forgotten.filter((one) => one.resource === resource)
    const stays = saved.some(({ asked }) => asked.status === 204 && taken.every((one) => before(one.asked, asked)))
    const goes = taken.some((one) => saved.every(({ asked }) => before(asked, one.asked)))
    const times = approvals.filter((one) => one === resource).length
    if (times > 1) problems.push(`${resource} is allowed ${times} times`)
    if (stays && times === 0) problems.push(`${resource} was allowed for good, and is not`)
    if ((goes || saved.length === 0) && times > 0) problems.push(`${resource} is still allowed for good`)
  }
  return problems
}
