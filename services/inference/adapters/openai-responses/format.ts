/** Whose thoughts, items and hosted tools the Responses API of OpenAI understands. */
export const OPENAI_FORMAT = 'openai-responses-v1'
