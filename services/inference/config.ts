import { resolve } from 'node:path'
import { z } from 'zod'
import { fileVariableOf, readEnvironment } from '#shared/config/config.ts'
import { type StoreConfig, storeOf, storeSecrets, storeVariables } from '#shared/config/store-config.ts'
import { booleanVariable, type Environment, integerVariable, urlVariable } from '#shared/config/variables.ts'
import { fileVariable, type ProviderConfig } from './config-file.ts'
import { modelListOf, resolveModel } from './domain/model-list.ts'

export interface Config {
  readonly store: StoreConfig
  /** In order: those of the file, then OpenAI, Anthropic, OpenRouter and Ollama as their variables are set. */
  readonly providers: readonly ProviderConfig[]
  readonly defaultModel: string
  /** Time limit of a generation (`PORTICO_GENERATION_TIMEOUT_SECONDS`, default 3600). */
  readonly generationTimeoutMs: number
  /**
   * Whether keys with a limit may use models of unknown price, for which nothing is reserved
   * (`PORTICO_ALLOW_UNPRICED_MODELS`, default false).
   */
  readonly allowUnpriced: boolean
  /** Longest silence of a provider (`PORTICO_PROVIDER_TIMEOUT_SECONDS`, default 300). */
  readonly providerTimeoutMs: number
}

/** The default model of a well-known provider whose models are not in the file. */
const DEFAULT_MODELS: Readonly<Record<string, string>> = {
  openai: 'gpt-5.5',
  anthropic: 'claude-sonnet-5-5',
  openrouter: 'openrouter/auto',
  ollama: 'llama3.2',
}

const KEY_VARIABLES = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'OPENROUTER_API_KEY'] as const
type KeyVariable = (typeof KEY_VARIABLES)[number]

const OLLAMA_PORT = '11434'

const ollamaHost = z.string().transform((text, context) => {
  const [scheme, rest] = /^(https?):\/\/(.*)$/i.exec(text)?.slice(1) ?? [undefined, text]
  const url = URL.parse(`${scheme ?? 'http'}://${rest?.startsWith(':') ? '127.0.0.1' : ''}${rest}`)
  if (url === null || url.hostname === '') {
    context.addIssue({ code: 'custom', message: 'must be a host, with or without scheme and port' })
    return z.NEVER
  }
  // As Ollama reads its variable: the port is 11434 unless there is a scheme or a port; 0.0.0.0 is an address to listen
  // on.
  if (scheme === undefined && url.port === '' && !/:\d+\/?$/.test(text)) url.port = OLLAMA_PORT
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/v1`
})

const schema = (env: Environment) =>
  variables(env).superRefine((values, context) => {
    const { providers, defaultModel } = providersOf(values, env)
    if (resolveModel(modelListOf(providers), defaultModel) !== undefined) return
    const message = `defaultModel: no configured provider has ${defaultModel}`
    context.addIssue({ code: 'custom', path: ['PORTICO_CONFIG'], message })
  })

function variables(env: Environment) {
  return z.object({
    ...storeVariables,
    OPENAI_API_KEY: z.string().optional(),
    OPENAI_BASE_URL: urlVariable().optional(),
    ANTHROPIC_API_KEY: z.string().optional(),
    ANTHROPIC_BASE_URL: urlVariable().optional(),
    OPENROUTER_API_KEY: z.string().optional(),
    OLLAMA_HOST: ollamaHost.optional(),
    PORTICO_CONFIG: fileVariable(env).optional(),
    PORTICO_GENERATION_TIMEOUT_SECONDS: integerVariable({ min: 1, max: 86_400 }).default(3_600),
    PORTICO_ALLOW_UNPRICED_MODELS: booleanVariable().default(false),
    PORTICO_PROVIDER_TIMEOUT_SECONDS: integerVariable({ min: 1, max: 3_600 }).default(300),
  })
}

type Values = z.output<ReturnType<typeof variables>>

/** Reads the settings of the inference service. Throws ConfigError with every problem. */
export function readConfig(env: Environment): Config {
  const values = readEnvironment(schema(env), env, [...storeSecrets, ...KEY_VARIABLES])
  return Object.freeze({
    store: storeOf(values),
    ...providersOf(values, env),
    generationTimeoutMs: values.PORTICO_GENERATION_TIMEOUT_SECONDS * 1_000,
    allowUnpriced: values.PORTICO_ALLOW_UNPRICED_MODELS,
    providerTimeoutMs: values.PORTICO_PROVIDER_TIMEOUT_SECONDS * 1_000,
  })
}

function providersOf(values: Values, env: Environment): Pick<Config, 'providers' | 'defaultModel'> {
  const file = values.PORTICO_CONFIG
  const listed = (file?.providers ?? []).map((provider) => {
    return provider.models.length > 0 ? provider : { ...provider, models: defaultModels(provider.id) }
  })
  const unlisted = wellKnown(values, env).filter(({ id }) => !listed.some((provider) => provider.id === id))
  const providers = [...listed, ...unlisted]
  const first = providers.find(({ models }) => models.length > 0)
  const defaultModel =
    file?.defaultModel ?? (first === undefined ? 'portico/echo' : `${first.id}/${first.models[0]?.id}`)
  return { providers, defaultModel }
}

function wellKnown(values: Values, env: Environment): ProviderConfig[] {
  const providers: ProviderConfig[] = []
  const add = (
    id: string,
    protocol: ProviderConfig['protocol'],
    baseUrl: string,
    key: KeyVariable | undefined,
  ): void => {
    const file = key && env[fileVariableOf(key)]
    const apiKey = { apiKey: key && values[key], ...(file && { apiKeyFile: resolve(file) }) }
    providers.push({ id, protocol, baseUrl, ...apiKey, headers: {}, models: defaultModels(id) })
  }
  const { OPENAI_BASE_URL, ANTHROPIC_BASE_URL, OLLAMA_HOST } = values
  if (values.OPENAI_API_KEY)
    add('openai', 'openai-responses', OPENAI_BASE_URL ?? 'https://api.openai.com/v1', 'OPENAI_API_KEY')
  if (values.ANTHROPIC_API_KEY) {
    add('anthropic', 'anthropic', ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com', 'ANTHROPIC_API_KEY')
  }
  if (values.OPENROUTER_API_KEY) add('openrouter', 'openai', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY')
  if (OLLAMA_HOST !== undefined) add('ollama', 'openai', OLLAMA_HOST, undefined)
  return providers
}

function defaultModels(id: string): ProviderConfig['models'] {
  const model = DEFAULT_MODELS[id]
  return model === undefined ? [] : [{ id: model, displayName: model }]
}
