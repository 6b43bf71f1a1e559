import { check } from '#shared/rpc/parse.ts'
import type { Generation } from './generation.ts'

/** Refuses a request that demands a call of a tool which neither it nor its preset offers, with REQUEST_INVALID. */
export function requireTools({ input }: Pick<Generation, 'input'>): void {
  const { toolChoice: choice, tools, hostedTools } = input.request
  if (choice?.mode === 'required') {
    check(tools.length + hostedTools.length > 0, 'tool_choice', 'demands a call, but there are no tools')
  }
  if (choice?.mode !== 'named' && choice?.mode !== 'hosted') return
  const known =
    choice.mode === 'named'
      ? tools.some(({ name }) => name === choice.name)
      : hostedTools.some(({ definition }) => definition.type === choice.name)
  check(known, 'tool_choice.name', 'must be one of the tools')
}
