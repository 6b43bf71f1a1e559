/**
 * A variant of chat completions: OpenAI's own, which refuses unknown members; OpenRouter's, which has more of them; or
 * that of the many servers in between, which ignore unknown members.
 */
export type OpenaiDialect = 'openai' | 'openrouter' | 'compatible'

/** What is known about a chat completions server. */
export interface ChatProfile {
  readonly dialect: OpenaiDialect
  readonly isGoogle: boolean
  /** Whether thoughts are sent back to it as `reasoning_content`: without them, some models lose their thread. */
  readonly reasoningContent: boolean
}

/** A region has a host of its own, `eu.api.openai.com`, and on Azure each customer has one. */
const HOSTS: readonly (readonly [RegExp, OpenaiDialect])[] = [
  [/^(.+\.)?api\.openai\.com$/, 'openai'],
  [/^.+\.(openai|services\.ai|cognitiveservices)\.azure\.com$/, 'openai'],
  [/^(.+\.)?openrouter\.ai$/, 'openrouter'],
]
const GOOGLE = /^(.+\.)?googleapis\.com$/
const THINKING = /^(.+\.)?(deepseek\.com|moonshot\.(ai|cn)|z\.ai|bigmodel\.cn|minimax\.io|xiaomimimo\.com)$/

/** The dialect of a provider: that of its host, whatever its id; behind an unknown host (a proxy), that of its id. */
export function dialectOf(id: string, baseUrl: string): OpenaiDialect {
  const host = hostOf(baseUrl)
  const dialect = HOSTS.find(([pattern]) => pattern.test(host))?.[1]
  return dialect ?? (id === 'openai' || id === 'openrouter' ? id : 'compatible')
}

/**
 * What is known about a provider by its address. `reasoningContent`: as configured; undefined: as known for its host.
 */
export function profileOf(id: string, baseUrl: string, reasoningContent?: boolean): ChatProfile {
  const host = hostOf(baseUrl)
  return {
    dialect: dialectOf(id, baseUrl),
    isGoogle: GOOGLE.test(host),
    reasoningContent: reasoningContent ?? THINKING.test(host),
  }
}

function hostOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.hostname ?? ''
}
