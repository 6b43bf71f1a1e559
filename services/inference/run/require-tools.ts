import { check } from '#shared/rpc/parse.ts'
import type { Generation } from './generation.ts'

/**
 * Refuses a request that demands or allows calls of a tool that neither it nor its preset offers, with REQUEST_INVALID.
 */
export function requireTools({ input }: Pick<Generation, 'input'>): void {
  const { toolChoice: choice, tools, hostedTools } = input.request
  if (choice?.mode === 'required') {
    check(tools.length + hostedTools.length > 0, 'tool_choice', 'requires a call, but there are no tools')
  }
  const missing = missingTool(input.request)
  check(missing === undefined, 'tool_choice', `there is no tool "${missing?.slice(0, 128)}"`)
}

/** Returns a tool that the choice names but nobody offers; undefined: none. */
function missingTool(request: Generation['input']['request']): string | undefined {
  const { toolChoice: choice, tools, hostedTools } = request
  if (choice === undefined) return undefined
  const offered = new Set(tools.map(({ name }) => name))
  if (!('name' in choice)) {
    const { names = [], hostedTypes = [], serverLabels = [] } = choice.allowed ?? {}
    const types = new Set(hostedTools.map(({ definition }) => definition.type))
    const labels = new Set(hostedTools.map(({ definition }) => definition.type === 'mcp' && definition.server_label))
    return (
      names.find((name) => !offered.has(name)) ??
      hostedTypes.find((type) => !types.has(type)) ??
      serverLabels.find((label) => !labels.has(label))
    )
  }
  if (choice.mode === 'named') {
    const known = offered.has(choice.name) || hostedTools.some(({ definition }) => definition.name === choice.name)
    return known ? undefined : choice.name
  }
  // A server of MCP is chosen by its label.
  const label = choice.definition?.server_label
  const known = hostedTools.some(
    ({ definition }) => definition.type === choice.name && (label == null || definition.server_label === label),
  )
  return known ? undefined : String(label ?? choice.name)
}
