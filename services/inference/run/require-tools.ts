import { check } from '#shared/rpc/parse.ts'
import type { Generation } from './generation.ts'

/**
 * Refuses a request that demands or allows calls of a tool that neither it nor its preset offers, with REQUEST_INVALID.
 */
export function requireTools({ input }: Pick<Generation, 'input'>): void {
  const { toolChoice: choice, tools, hostedTools } = input.request
  if (choice?.mode === 'required') {
    check(tools.length + hostedTools.length > 0, 'tool_choice', 'demands a call, but there are no tools')
  }
  if (choice === undefined) return
  if (!('name' in choice)) {
    const { names = [], hostedTypes = [] } = choice.allowed ?? {}
    const offered = new Set(tools.map(({ name }) => name))
    const hosted = new Set(hostedTools.map(({ definition }) => definition.type))
    const missing = names.find((name) => !offered.has(name)) ?? hostedTypes.find((type) => !hosted.has(type))
    check(missing === undefined, 'tool_choice', `there is no tool "${missing?.slice(0, 128)}"`)
    return
  }
  const known =
    choice.mode === 'named'
      ? tools.some(({ name }) => name === choice.name) ||
        hostedTools.some(({ definition }) => definition.name === choice.name)
      : hostedTools.some(({ definition }) => definition.type === choice.name)
  check(known, 'tool_choice.name', 'must be one of the tools')
}
