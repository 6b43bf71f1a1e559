import { ToolChoice_Mode as Mode } from '#gen/portico/inference/v1/inference_pb.js'
import { check } from '#shared/rpc/parse.ts'
import type { Generation } from './generation.ts'

/**
 * Refuses a request that demands or allows calls of a tool that neither it nor its preset offers, with REQUEST_INVALID.
 */
export function requireTools({ input }: Pick<Generation, 'input'>): void {
  const { toolChoice: choice, tools, hostedTools } = input.request
  if (choice?.mode === Mode.REQUIRED) {
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
  const { mode, name = '' } = choice
  if (mode !== Mode.NAMED && mode !== Mode.HOSTED) {
    const { names = [], hostedTypes = [], serverLabels = [] } = choice.allowed ?? {}
    const types = new Set(hostedTools.map(({ definition }) => definition?.type))
    const labels = new Set(hostedTools.map(({ definition }) => definition?.type === 'mcp' && definition.server_label))
    return (
      names.find((name) => !offered.has(name)) ??
      hostedTypes.find((type) => !types.has(type)) ??
      serverLabels.find((label) => !labels.has(label))
    )
  }
  if (mode === Mode.NAMED) {
    const isKnown = offered.has(name) || hostedTools.some(({ definition }) => definition?.name === name)
    return isKnown ? undefined : name
  }
  // A server of MCP is chosen by its label.
  const label = choice.definition?.server_label
  const isKnown = hostedTools.some(
    ({ definition }) => definition?.type === name && (label == null || definition.server_label === label),
  )
  return isKnown ? undefined : String(label ?? name)
}
