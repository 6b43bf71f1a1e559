import {
  type GenerationRequest,
  GenerationRequestSchema,
  type Message,
  Message_RoleSchema,
  ToolChoice_Mode as Mode,
  type Part,
  type ProviderExtension,
  type ToolChoice,
  ToolChoice_ModeSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { checkAllLimits } from '#shared/rpc/field-limits.ts'
import { check, checkEnum, invalid } from '#shared/rpc/parse.ts'
import { isMedia } from '../domain/conversation.ts'
import { CLEARED } from '../domain/preset/apply-preset.ts'

const checkLimits = checkAllLimits(GenerationRequestSchema)
const MAX_BIAS = 100
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]{0,4096}$/

/**
 * Rejects with REQUEST_INVALID unless a request can be served. Its model, and whether there are the tools that it
 * names, are known only after a preset was applied.
 */
export function checkGeneration(request: GenerationRequest): void {
  const { messages, hostedTools, toolChoice, sampling } = request
  checkLimits(request)
  for (const [i, message] of messages.entries()) checkMessage(message, `messages[${i}]`)
  for (const [i, { format, definition }] of hostedTools.entries()) {
    check(format !== '', `hosted_tools[${i}].format`, 'must not be empty')
    check(typeof definition?.type === 'string', `hosted_tools[${i}].definition`, 'must have a type')
  }
  if (toolChoice !== undefined) checkToolChoice(toolChoice)
  const biases = Object.values(sampling?.logitBias ?? {})
  const areWithin = biases.every((bias) => Math.abs(bias) <= MAX_BIAS)
  check(areWithin, 'sampling.logit_bias', `must be from -${MAX_BIAS} to ${MAX_BIAS}`)
  const cleared = sampling?.cleared ?? []
  check(
    cleared.every((name) => Object.hasOwn(CLEARED, name)),
    'sampling.cleared',
    'is not known',
  )
  checkHeaders(request.providerHeaders, 'provider_headers')
  checkExtensions(request.extensions)
}

function checkMessage({ role, parts }: Message, field: string): void {
  checkEnum(Message_RoleSchema, role, `${field}.role`)
  for (const [i, part] of parts.entries()) checkPart(part, `${field}.parts[${i}]`)
}

function checkPart({ part }: Part, field: string): void {
  if (part.case === undefined) throw invalid(field, 'is not known')
  if (isMedia(part)) check(part.value.source.case !== undefined, field, 'requires data or a URL')
  else if (part.case === 'foreign') {
    const { format, item } = part.value
    check(format !== '' && item !== undefined, `${field}.foreign`, 'requires a format and an item')
  } else if (part.case === 'toolResult') {
    const { content } = part.value
    for (const [i, inner] of content.entries()) checkPart(inner, `${field}.tool_result.content[${i}]`)
    const isNested = content.some(({ part: { case: kind } }) => NOT_IN_RESULTS.has(kind))
    check(!isNested, field, 'must contain text, images and files')
  }
}

const NOT_IN_RESULTS: ReadonlySet<Part['part']['case']> = new Set(['toolResult', 'toolCall', 'reasoning'])

function checkToolChoice({ mode, name }: ToolChoice): void {
  checkEnum(ToolChoice_ModeSchema, mode, 'tool_choice.mode')
  if (mode === Mode.NAMED || mode === Mode.HOSTED) check(name !== undefined, 'tool_choice.name', 'must be set')
}

function checkExtensions(extensions: readonly ProviderExtension[]): void {
  const formats = new Set<string>()
  for (const [i, { format, headers }] of extensions.entries()) {
    const field = `extensions[${i}]`
    check(format !== '', `${field}.format`, 'must not be empty')
    check(!formats.has(format), `${field}.format`, 'must be unique')
    formats.add(format)
    checkHeaders(headers, `${field}.headers`)
  }
}

function checkHeaders(headers: Readonly<Record<string, string>>, field: string): void {
  for (const [name, value] of Object.entries(headers)) {
    check(HEADER_NAME.test(name) && HEADER_VALUE.test(value), field, 'must be HTTP headers')
  }
}
