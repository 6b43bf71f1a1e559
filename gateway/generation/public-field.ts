import type { GenerationHeaders, GenerationInit, Sender } from './request.ts'

type Names = Readonly<Record<string, string>>

/** Fields of a generation that have another name in the body of every dialect. */
const SHARED: Names = {
  'routing.max_input_nanos': 'provider.max_price.prompt',
  'routing.max_output_nanos': 'provider.max_price.completion',
  'routing.zero_data_retention': 'provider.zdr',
  'routing.deny_data_collection': 'provider.data_collection',
  'sampling.top_log_probabilities': 'top_logprobs',
  automatic_cache: 'cache_control',
  hosted_tools: 'tools',
}

/** The same for single dialects, by the origin of their requests. */
const OF_DIALECT: Readonly<Record<string, Names>> = {
  chat: {
    max_output_tokens: 'max_tokens',
    'sampling.top_log_probabilities': 'logprobs',
    'response_format.python': 'response_format.type',
  },
  messages: {
    max_output_tokens: 'max_tokens',
    'sampling.stop': 'stop_sequences',
    reasoning: 'thinking',
    'reasoning.max_tokens': 'thinking.budget_tokens',
    'reasoning.effort': 'output_config.effort',
    'reasoning.summary': 'thinking.display',
    response_format: 'output_config.format',
    'response_format.json_schema.name': 'output_config.format.name',
    parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
  },
  responses: {
    messages: 'input',
    verbosity: 'text.verbosity',
    response_format: 'text.format',
    'response_format.json_schema.name': 'text.format.name',
  },
}

/** A generation, and the names that the body of its request has for its fields. */
export interface NamedGeneration {
  readonly generation: GenerationInit
  readonly nameOf: (field: string) => string
}

/** A tool that is offered, and where it stands in the body. */
export interface OfferedTool<T> {
  readonly tool: T
  readonly path: string
}

/** The tools that the model is shown: the caller's, and those that a provider runs. */
export interface Offer<Own, Hosted> {
  readonly tools: readonly OfferedTool<Own>[]
  readonly hosted: readonly OfferedTool<Hosted>[]
}

/** The place of a field in the conversation; without a part it is about the whole message. */
export function placeInMessages(field: string) {
  const [, message, part, rest = ''] = /^messages\[(\d+)\](?:\.parts(?:\[(\d+)\])?)?\.?(.*)$/.exec(field) ?? []
  return message === undefined ? undefined : { message: Number(message), part: numberOf(part), rest }
}

/** The place of a field in the content of a result; without a part it is about the whole content. */
export function placeInResult(rest: string) {
  const [match, part, ofPart = ''] = /^tool_result\.content(?:\[(\d+)\])?\.?(.*)$/.exec(rest) ?? []
  return match === undefined ? undefined : { part: numberOf(part), rest: ofPart }
}

/** The tool that a field belongs to, and the rest of its name. */
export function placeInTools<Own, Hosted>(field: string, { tools, hosted }: Offer<Own, Hosted>) {
  const [, list, index, rest = ''] = /^(tools|hosted_tools)\[(\d+)\](.*)$/.exec(field) ?? []
  if (index === undefined) return undefined
  const offered = list === 'tools' ? tools[Number(index)] : hosted[Number(index)]
  return { offered, isHosted: list === 'hosted_tools', rest }
}

function numberOf(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits)
}

/** Like {@link memberName} for a request: who sends it, and the session that it belongs to, may stand elsewhere. */
export function memberOf(origin: string, field: string, body: Sender, headers: GenerationHeaders): string {
  if (field === 'user' && body.user == null) return origin === 'messages' ? 'metadata.user_id' : 'safety_identifier'
  if (field === 'session_id' && body.session_id == null) {
    if (headers['x-session-id']) return 'x-session-id'
    if (body.prompt_cache_key != null) return 'prompt_cache_key'
  }
  return memberName(origin, field)
}

/**
 * The member of a body that a field of the generation is made from, as the dialect of an origin names it. Fields within
 * the conversation and the tools have the name of the whole list, since their places depend on the body.
 */
export function memberName(origin: string, field: string): string {
  const whole = field.replace(/^(messages|tools|hosted_tools)\[.*$/, '$1')
  // Members of `sampling`, and those for one kind of provider, stand in the body itself.
  const bare = whole.replace(/^(sampling|provider_body|extensions\[\d+\])\./, '').replace(/^routing\./, 'provider.')
  return OF_DIALECT[origin]?.[whole] ?? SHARED[whole] ?? bare
}
