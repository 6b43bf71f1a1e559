import type { OpenaiDialect } from './request.ts'

/** A region has a host of its own: `eu.api.openai.com`. */
const HOSTS: readonly (readonly [RegExp, OpenaiDialect])[] = [
  [/^(.+\.)?api\.openai\.com$/, 'openai'],
  [/^(.+\.)?openrouter\.ai$/, 'openrouter'],
]

/** The dialect of a provider: that of its host, whatever it is called; behind a host that is not known (a proxy), that of its id. */
export function dialectOf(id: string, baseUrl: string): OpenaiDialect {
  const host = URL.parse(baseUrl)?.hostname ?? ''
  const known = HOSTS.find(([pattern]) => pattern.test(host))?.[1]
  return known ?? (id === 'openai' || id === 'openrouter' ? id : 'compatible')
}
