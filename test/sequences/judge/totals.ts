import type { WireMessage } from '#test/support/instance-client.ts'
import type { Tokens } from '../history.ts'
import { sumOf } from './changes.ts'

/** What statistics count, over all existing sessions. */
export interface Totals {
  sessions: number
  subagents: number
  prompts: number
  steps: number
  readonly tokens: (Tokens | undefined)[]
  readonly calls: { succeeded: number; failed: number }
}

export function noTotals(): Totals {
  return { sessions: 0, subagents: 0, prompts: 0, steps: 0, tokens: [], calls: { succeeded: 0, failed: 0 } }
}

/** Adds the figures of one session, except for messages that a fork has only copied. */
export function addTotals(totals: Totals, messages: readonly WireMessage[], isChild: boolean): void {
  const prompts = messages.filter(({ type }) => type === 'user').length
  const steps = messages.filter(({ type }) => type === 'assistant')
  if (prompts + steps.length > 0) totals[isChild ? 'subagents' : 'sessions'] += 1
  if (!isChild) totals.prompts += prompts
  totals.steps += steps.length
  for (const message of messages as readonly (WireMessage & { readonly tokens?: Tokens })[])
    if (message.type === 'compaction') totals.tokens.push(message.tokens)
  for (const step of steps as readonly (WireMessage & { readonly tokens?: Tokens })[]) {
    totals.tokens.push(step.tokens)
    for (const { type, state } of step.content ?? []) {
      if (type === 'tool') totals.calls[state?.status === 'completed' ? 'succeeded' : 'failed'] += 1
    }
  }
}

/** Checks statistics against the sessions. */
export function judgeStats(stats: unknown, totals: Totals): string[] {
  const { sessions, subagents, prompts, steps, tokens, tools, models, activity } = stats as {
    readonly [name in 'sessions' | 'subagents' | 'prompts' | 'steps']: number
  } & {
    readonly tokens: Tokens
    readonly tools: { readonly totals: unknown; readonly usage: readonly { readonly calls: number }[] }
    readonly models: readonly { readonly steps: number }[]
    readonly activity: readonly { readonly steps: number }[]
  }
  const { succeeded, failed } = totals.calls
  const calls = succeeded + failed
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
  const found = {
    sessions,
    subagents,
    prompts,
    steps,
    tokens,
    calls: tools.totals,
    ofTools: sum(tools.usage.map((each) => each.calls)),
    ofModels: sum(models.map((each) => each.steps)),
    ofDays: sum(activity.map((each) => each.steps)),
  }
  const expected = {
    sessions: totals.sessions,
    subagents: totals.subagents,
    prompts: totals.prompts,
    steps: totals.steps,

    tokens: sumOf(totals.tokens),
    calls: { calls, succeeded, failed, unfinished: 0 },

    ofTools: calls,
    ofModels: totals.steps,
    ofDays: totals.steps,
  }
  const [said, right] = [JSON.stringify(found), JSON.stringify(expected)]
  return said === right ? [] : [`statistics say ${said}; the sessions have ${right}`]
}
