/** The format of thoughts, items and hosted tools that OpenAI's Responses API understands. */
export const OPENAI_FORMAT = 'openai-responses-v1'
