import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type ParseError, parse } from 'jsonc-parser'
import { z } from 'zod'
import { readSecretFile } from '#shared/config/secret-file.ts'
import type { Environment } from '#shared/config/variables.ts'
import { model, policyMembers, toPolicy } from './config-models.ts'
import type { DataPolicy } from './domain/endpoint.ts'
import type { ModelEntry } from './domain/model-list.ts'

export interface ProviderConfig {
  readonly id: string
  readonly protocol: 'openai' | 'openai-responses' | 'anthropic'
  /** Without a trailing slash. */
  readonly baseUrl: string
  /** Undefined: the provider needs none. */
  readonly apiKey: string | undefined
  /** The file that the key came from, an absolute path; its later content replaces the key. */
  readonly apiKeyFile?: string
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>
  /** Appended to every URL (`api-version=1`); undefined: nothing. */
  readonly query?: string | undefined
  /** The header that carries the key; undefined: the protocol's own. */
  readonly keyHeader?: string | undefined
  /** Whether answers are requested as streams, whatever the client wants. */
  readonly alwaysStream?: boolean | undefined
  /** Whether thoughts are sent back as `reasoning_content`; undefined: if its host is known to want them. */
  readonly reasoningContent?: boolean | undefined
  /** How long the cache markers last that requests without any get; undefined: they get none. */
  readonly cache?: '5m' | '1h'
  /** The data policy, according to the operator; undefined: unknown. */
  readonly policy?: Partial<DataPolicy> | undefined
  readonly models: readonly ModelEntry[]
}

const MAX_FILE_BYTES = 4 * 1024 * 1024

const baseUrl = z
  .string()
  .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), 'must be an http:// or https:// URL')
  .transform((text) => text.replace(/\/+$/, ''))

function provider(env: Environment) {
  return z
    .strictObject({
      id: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be lower-case letters, digits, `.`, `_` and `-`'),
      protocol: z.enum(['openai', 'openai-responses', 'anthropic']),
      baseURL: baseUrl,
      apiKey: z.string().min(1).optional(),
      apiKeyEnv: z.string().min(1).optional(),
      apiKeyFile: z.string().min(1).optional(),
      headers: z.record(z.string().regex(/^[\w-]+$/), z.string().regex(/^[\t\x20-\x7e]*$/)).default({}),
      query: z.record(z.string().min(1), z.string()).optional(),
      keyHeader: z
        .string()
        .regex(/^[\w-]+$/)
        .optional(),
      stream: z.enum(['always', 'as-requested']).optional(),
      reasoningContent: z.boolean().optional(),
      cache: z.enum(['5m', '1h']).optional(),
      ...policyMembers,
      models: z.array(model).default([]),
    })
    .transform(({ id, protocol, baseURL, headers, models, ...rest }, context): ProviderConfig => {
      const {
        query,
        keyHeader,
        stream,
        reasoningContent,
        cache,
        dataCollection,
        zdr,
        distillable,
        quantization,
        ...keys
      } = rest
      if (id === 'portico') context.addIssue({ code: 'custom', path: ['id'], message: 'portico is built in' })
      const refuse = (member: string, message: string): undefined => {
        // It continues, so that other problems are reported together with this one.
        context.addIssue({ code: 'custom', path: [member], message, continue: true })
      }
      const settings = {
        policy: toPolicy({ dataCollection, zdr, distillable, quantization }),
        ...(query && { query: new URLSearchParams(query).toString() }),
        ...(keyHeader && { keyHeader: keyHeader.toLowerCase() }),
        ...(stream === 'always' && { alwaysStream: true }),
        ...(reasoningContent !== undefined && { reasoningContent }),
        cache,
      }
      const key = { apiKey: keyOf(keys, env, refuse), ...fileOf(keys) }
      return { id, protocol, baseUrl: baseURL, ...key, ...settings, headers, models }
    })
}

interface KeyMembers {
  readonly apiKey?: string | undefined
  readonly apiKeyEnv?: string | undefined
  readonly apiKeyFile?: string | undefined
}

function keyOf(
  keys: KeyMembers,
  env: Environment,
  refuse: (member: string, message: string) => undefined,
): string | undefined {
  const [[member, value] = [], other] = Object.entries(keys).filter(([, value]) => value !== undefined)
  if (member === undefined) return undefined
  if (other !== undefined) return refuse(other[0], `must not be set together with ${member}`)
  if (member === 'apiKey') return value
  if (member === 'apiKeyEnv') return env[value] || refuse(member, `${value} is not set`)
  try {
    return readSecretFile(value)
  } catch (error) {
    return refuse(member, error instanceof Error ? error.message : String(error))
  }
}

function fileOf({ apiKeyFile }: KeyMembers): { readonly apiKeyFile?: string } {
  return apiKeyFile === undefined ? {} : { apiKeyFile: resolve(apiKeyFile) }
}

function schema(env: Environment) {
  return z
    .strictObject({ providers: z.array(provider(env)).default([]), defaultModel: z.string().min(1).optional() })
    .superRefine(({ providers }, context) => {
      for (const [i, { id }] of providers.entries()) {
        if (providers.findIndex((other) => other.id === id) !== i) {
          context.addIssue({ code: 'custom', path: ['providers', i, 'id'], message: `${id} is used twice` })
        }
      }
    })
}

/** The path of a JSON file, which may contain comments; the result is its content. */
export function fileVariable(env: Environment) {
  return z
    .string()
    .transform((path, context): unknown => {
      const problems: ParseError[] = []
      try {
        const text = readFileSync(path, 'utf8')
        if (text.length > MAX_FILE_BYTES) throw new Error('is too long')
        const value: unknown = parse(text, problems, { allowTrailingComma: true })
        if (problems.length === 0) return value
        context.addIssue({
          code: 'custom',
          message: `${resolve(path)} must be valid JSON (character ${problems[0]?.offset ?? 0})`,
        })
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'too long'
        context.addIssue({ code: 'custom', message: `${resolve(path)} cannot be read (${code})` })
      }
      return z.NEVER
    })
    .pipe(schema(env))
}
