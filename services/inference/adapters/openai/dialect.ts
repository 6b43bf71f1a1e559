/**
 * Whose reading of chat completions: OpenAI's own, which refuses what it does not know; OpenRouter's, which has more members; or that of
 * the many servers between, which pass over what they do not know.
 */
export type OpenaiDialect = 'openai' | 'openrouter' | 'compatible'

/** What is known of a server of chat completions. */
export interface ChatProfile {
  readonly dialect: OpenaiDialect
  /** The kind of provider whose proofs of calls it wants back; undefined: it gives none. */
  readonly format?: string | undefined
  /** Whether thoughts go back to it, as `reasoning_content`: some models lose their thread without. */
  readonly reasoningContent: boolean
}

/** A region has a host of its own: `eu.api.openai.com`; on Azure each customer has one. */
const HOSTS: readonly (readonly [RegExp, OpenaiDialect])[] = [
  [/^(.+\.)?api\.openai\.com$/, 'openai'],
  [/^.+\.(openai|services\.ai|cognitiveservices)\.azure\.com$/, 'openai'],
  [/^(.+\.)?openrouter\.ai$/, 'openrouter'],
]
const GOOGLE = /^(.+\.)?googleapis\.com$/
const THINKING = /^(.+\.)?(deepseek\.com|moonshot\.(ai|cn)|z\.ai|bigmodel\.cn|minimax\.io|xiaomimimo\.com)$/

/** The dialect of a provider: that of its host, whatever it is called; behind a host that is not known (a proxy), that of its id. */
export function dialectOf(id: string, baseUrl: string): OpenaiDialect {
  const host = hostOf(baseUrl)
  const known = HOSTS.find(([pattern]) => pattern.test(host))?.[1]
  return known ?? (id === 'openai' || id === 'openrouter' ? id : 'compatible')
}

/** What is known of a provider by its address. `reasoningContent`: as it is configured; undefined: as its host is known for. */
export function profileOf(id: string, baseUrl: string, reasoningContent?: boolean): ChatProfile {
  const host = hostOf(baseUrl)
  return {
    dialect: dialectOf(id, baseUrl),
    format: GOOGLE.test(host) ? 'google-gemini-v1' : undefined,
    reasoningContent: reasoningContent ?? THINKING.test(host),
  }
}

function hostOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.hostname ?? ''
}
