import {
  AllowedToolsSchema,
  type HostedTool as HostedMessage,
  ToolChoice_Mode,
  type ToolChoice as ToolChoiceMessage,
  type Tool as ToolMessage,
  ToolNamespaceSchema,
  ToolSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import type { HostedTool, Tool, ToolChoice } from '../domain/tools.ts'
import { parseCache } from './parse-messages.ts'

const checkTool = checkLimits(ToolSchema)
const checkNamespace = checkLimits(ToolNamespaceSchema)
const checkAllowed = checkLimits(AllowedToolsSchema)

/** Parses the caller's tools; rejects with REQUEST_INVALID. */
export function parseTools(tools: readonly ToolMessage[]): Tool[] {
  return tools.map((tool, i) => {
    checkTool(tool, `tools[${i}]`)
    const { name, description, parameters, strict, custom, namespace, deferred, cacheControl } = tool
    if (namespace !== undefined) checkNamespace(namespace, `tools[${i}].namespace`)
    return {
      name,
      description,
      parameters,
      strict,
      ...(custom === undefined ? {} : { custom: { syntax: custom.syntax, grammar: custom.grammar } }),
      ...(namespace === undefined ? {} : { namespace: { name: namespace.name, description: namespace.description } }),
      ...(deferred ? { deferred } : {}),
      ...(cacheControl === undefined ? {} : { cache: parseCache(cacheControl) }),
    }
  })
}

/** Parses tools that a provider runs; rejects with REQUEST_INVALID. */
export function parseHostedTools(tools: readonly HostedMessage[]): HostedTool[] {
  return tools.map(({ format, definition }, i) => {
    check(format !== '', `hosted_tools[${i}].format`, 'must not be empty')
    check(typeof definition?.type === 'string', `hosted_tools[${i}].definition`, 'must have a type')
    return { format, definition }
  })
}

/** Whether and which tools may be called. */
export const modes = enumTable<ToolChoice['mode'], ToolChoice_Mode>({
  auto: ToolChoice_Mode.AUTO,
  none: ToolChoice_Mode.NONE,
  required: ToolChoice_Mode.REQUIRED,
  named: ToolChoice_Mode.NAMED,
  hosted: ToolChoice_Mode.HOSTED,
})

/**
 * Parses which tools may be called; whether they exist is known after a preset was applied. Rejects with
 * REQUEST_INVALID.
 */
export function parseToolChoice(choice: ToolChoiceMessage | undefined): ToolChoice | undefined {
  if (choice === undefined) return undefined
  const mode = modes.fromProto(choice.mode)
  check(mode !== undefined, 'tool_choice.mode', 'is not known')
  const { name, definition, allowed } = choice
  if (mode !== 'named' && mode !== 'hosted') {
    if (allowed === undefined) return { mode }
    checkAllowed(allowed, 'tool_choice.allowed')
    const { names, hostedTypes, serverLabels } = allowed
    return { mode, allowed: { names, hostedTypes, serverLabels } }
  }
  check(name !== undefined, 'tool_choice.name', 'must be set')
  return mode === 'named' || definition === undefined ? { mode, name } : { mode, name, definition }
}
