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
