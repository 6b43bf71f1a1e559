import type { OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { argumentsAt, listAt, objectAt, textAt, wordAt } from '../http/json.ts'
import { OPENAI_FORMAT } from './format.ts'

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

/** The texts and refusals in a list of parts, one paragraph each. */
export function textsOf(parts: unknown): string {
  return listAt(parts)
    .map((part) => textAt(objectAt(part)?.text) || textAt(objectAt(part)?.refusal))
    .filter((text) => text !== '')
    .join('\n\n')
}

export function callTextOf(providerId: string, { arguments: call, input }: JsonObject): string {
  return argumentsAt(providerId, call) || argumentsAt(providerId, input)
}

/** Everything that the model wrote in an item, as far as it is text. */
export function allTextOf(item: JsonObject): string {
  const { content, summary, arguments: call, input, encrypted_content: hidden } = item
  return [textsOf(summary), textsOf(content), textAt(call), textAt(input), textAt(hidden)].join('')
}

/** Adds the encrypted form of a thought to a part of it; a thought without text has only that. */
export function writeEncrypted(writer: PartWriter, part: OpenPart | undefined, item: JsonObject): void {
  const encrypted = textAt(item.encrypted_content)
  const id = textAt(item.id)
  if (encrypted === '') return
  if (part !== undefined) Object.assign(part, { encrypted, id, format: OPENAI_FORMAT })
  else writer.whole({ case: 'reasoning', value: { encrypted, id: id || undefined, format: OPENAI_FORMAT } })
}

/** Writes the picture that an item contains, if any. */
export function writeImage(writer: PartWriter, item: JsonObject): void {
  const data = textAt(item.result)
  if (data === '') return
  const mime = `image/${wordAt(item.output_format) ?? 'png'}`
  writer.whole({ case: 'image', value: { source: { case: 'data', value: Buffer.from(data, 'base64') }, mime } })
}
