import { z } from 'zod'
import { objectProblem, openObject, refinedBy } from '../shape.ts'

/** The format of items of server tools. */
export const OPENROUTER = 'openrouter'

/** The format of tools, items and thoughts in this dialect. */
export const NATIVE = 'openai-responses-v1'

/** Tools that a provider runs, or knows by their type. */
const HOSTED_TOOLS = [
  ...['web_search', 'web_search_2025_08_26', 'web_search_preview', 'web_search_preview_2025_03_11', 'file_search'],
  ...['computer', 'computer_use_preview', 'code_interpreter', 'image_generation', 'mcp', 'tool_search'],
  ...['local_shell', 'shell', 'apply_patch', 'programmatic_tool_calling'],
] as const

/** Items of such tools, and others that only their maker understands. */
const HOSTED_ITEMS = [
  ...['web_search_call', 'file_search_call', 'code_interpreter_call'],
  ...['computer_call', 'computer_call_output', 'local_shell_call', 'local_shell_call_output'],
  ...['shell_call', 'shell_call_output', 'apply_patch_call', 'apply_patch_call_output'],
  ...['mcp_list_tools', 'mcp_approval_request', 'mcp_approval_response', 'mcp_call'],
  ...['tool_search_call', 'tool_search_output', 'program', 'program_output', 'agent_message'],
  ...['compaction', 'context_compaction', 'compaction_trigger', 'configuration_update'],
] as const

const SERVER_TOOL_ITEMS = [
  ...['openrouter:advisor', 'openrouter:subagent', 'openrouter:datetime', 'openrouter:files', 'openrouter:fusion'],
  ...['openrouter:image_generation', 'openrouter:experimental__search_models', 'openrouter:web_fetch'],
  ...['openrouter:web_search', 'openrouter:apply_patch', 'openrouter:bash', 'openrouter:shell'],
  ...['openrouter:tool_search', 'openrouter:browser_use', 'openrouter:code_interpreter', 'openrouter:text_editor'],
  ...['openrouter:memory', 'openrouter:mcp', 'openrouter:file_search'],
] as const

export const hostedTool = unchanged(
  z.enum(HOSTED_TOOLS),
  'Settings of the tool, interpreted by the provider that runs it.',
)

/** The choice of one by its type, and where there are several of a type by what else it says. */
export const hostedChoice = unchanged(
  z.enum(HOSTED_TOOLS),
  'The choice, interpreted by the provider that runs the tool.',
)

/** An item that goes back to its provider as it came. */
export const hostedItem = unchanged(
  z.enum(HOSTED_ITEMS),
  'The unchanged item, interpreted by the provider that made it.',
)

/** The same in a history, or what came of a server tool of OpenRouter's. */
export const foreignItem = unchanged(
  z.enum([...HOSTED_ITEMS, ...SERVER_TOOL_ITEMS]),
  'The unchanged item, interpreted by the provider that made it.',
)

const HOSTED: ReadonlySet<unknown> = new Set(HOSTED_ITEMS)

/** Whether clients of this dialect know an item; they would not send others back. */
export function isHostedItem(item: Readonly<Record<string, unknown>>): item is z.output<typeof hostedItem> {
  return HOSTED.has(item.type)
}

function unchanged<T extends z.ZodType<string>>(type: T, description: string) {
  return openObject({ type })
    .meta({ description })
    .check(
      refinedBy((value, context) => {
        const message = objectProblem(value)
        if (message !== undefined) context.addIssue({ code: 'custom', message })
      }),
    )
}
