import type { PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { listAt, objectAt, textAt, wordAt } from '../http/json.ts'

/** The phases of a model's words. */
const PHASES: ReadonlySet<unknown> = new Set(['commentary', 'final_answer'])

const WAITING = new Set([
  ...['function_call', 'custom_tool_call', 'local_shell_call', 'apply_patch_call', 'computer_call'],
  'mcp_approval_request',
])

/** Whether an item waits for the caller, like the call of a function. */
export function waits({ type }: JsonObject): boolean {
  return WAITING.has(textAt(type))
}

/** The phase of a message; undefined: the model gives none, or it is not a message. */
export function phaseOf({ type, phase }: JsonObject): string | undefined {
  return type === 'message' && PHASES.has(phase) ? textAt(phase) : undefined
}

/** The texts in a list of parts, one paragraph each. */
export function textsOf(parts: unknown): string {
  return listAt(parts)
    .map((part) => textAt(objectAt(part)?.text))
    .filter((text) => text !== '')
    .join('\n\n')
}

/** Everything that the model wrote in an item, as far as it is text. */
export function wordsOf(item: JsonObject): string {
  const { content, summary, arguments: call, input, encrypted_content: hidden } = item
  return [textsOf(summary), textsOf(content), textAt(call), textAt(input), textAt(hidden)].join('')
}

/** Writes the picture that an item contains, if any. */
export function writeImage(writer: PartWriter, item: JsonObject): void {
  const data = textAt(item.result)
  if (data === '') return
  const mime = `image/${wordAt(item.output_format) ?? 'png'}`
  writer.whole('image', { type: 'image', source: { data: Buffer.from(data, 'base64') }, mime })
}
