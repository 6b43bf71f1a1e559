import { anthropic } from './upstreams/anthropic.ts'
import { openai } from './upstreams/openai.ts'
import { openaiResponses } from './upstreams/openai-responses.ts'

/** A scripted provider of each protocol. */
export const UPSTREAMS = [openai, openaiResponses, anthropic] as const
