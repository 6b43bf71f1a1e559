/** Fields of a generation that have another name in the body of every dialect. */
const NAMES: Readonly<Record<string, string>> = {
  'routing.max_input_nanos': 'provider.max_price.prompt',
  'routing.max_output_nanos': 'provider.max_price.completion',
  'routing.zero_data_retention': 'provider.zdr',
  'routing.deny_data_collection': 'provider.data_collection',
  'sampling.top_log_probabilities': 'top_logprobs',
  automatic_cache: 'cache_control',
}

/**
 * Maps a field of the generation to the member of the body that it was made from, for names that all dialects share.
 * Members of `sampling`, and those for one kind of provider, stand in the body itself.
 */
export function sharedField(field: string): string {
  return (
    NAMES[field] ??
    field.replace(/^(sampling|provider_body|extensions\[\d+\])\./, '').replace(/^routing\./, 'provider.')
  )
}
