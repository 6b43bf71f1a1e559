import { z } from 'zod'

const flag = (description: string) => z.enum(['true', 'false']).optional().meta({ description })

/**
 * Headers by which a request wants the cached answer to an equal one. Portico caches no answers: the headers are
 * checked, and reported as not applied.
 */
export const cacheHeaders = {
  'x-openrouter-cache': flag('Reported as not applied: answers are not cached'),
  'x-openrouter-cache-ttl': z
    .string()
    .regex(/^\d{1,9}$/, 'must be a number of seconds')
    .optional()
    .meta({ description: 'How long an answer may be cached, in seconds' }),
  'x-openrouter-cache-clear': flag('Reported as not applied: answers are not cached'),
}

/** The same, as a preset says it. */
export const cacheSettings = {
  cache_enabled: z
    .boolean()
    .nullish()
    .meta({ description: 'Stored, and reported as not applied: answers are not cached' }),
  cache_ttl_seconds: z.int().min(1).max(86_400).nullish(),
}

const ASKING = ['x-openrouter-cache', 'x-openrouter-cache-clear'] as const

/** The names of those headers of a request that want caching. */
export function cacheNotApplied(
  headers: {
    readonly [name in (typeof ASKING)[number]]?: string | undefined
  },
): readonly string[] {
  return ASKING.filter((name) => headers[name] === 'true')
}
