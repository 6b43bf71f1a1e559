import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { PricingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { ConfigError } from '#shared/config/config-error.ts'
import type { Environment } from '#shared/config/variables.ts'
import { readConfig } from './config.ts'

/** Reads a configuration with a file that contains this text. */
async function withFile<T>(text: string, read: (path: string) => T): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-config-'))
  const path = join(directory, 'portico.jsonc')
  await writeFile(path, text)
  try {
    return read(path)
  } finally {
    await rm(directory, { recursive: true })
  }
}

function problemsOf(env: Environment): unknown {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return assert.fail('the settings were taken')
}

const unknown = (id: string) => ({ id, displayName: id })

test('without a provider there is portico/echo', () => {
  const { providers, defaultModel, generationTimeoutMs, providerTimeoutMs, store } = readConfig({})
  assert.deepEqual([providers, defaultModel], [[], 'portico/echo'])
  assert.deepEqual([generationTimeoutMs, providerTimeoutMs, store.kind], [3_600_000, 300_000, 'sqlite'])
})

test('the usual variables configure the usual providers, the first of which gives the default model', () => {
  const config = readConfig({
    OLLAMA_HOST: '10.0.0.7',
    OPENROUTER_API_KEY: 'or',
    ANTHROPIC_API_KEY: 'an',
    OPENAI_API_KEY: 'oa',
    OPENAI_BASE_URL: 'http://127.0.0.1:9/v1/',
  })
  const headers = {}
  assert.deepEqual(config.providers, [
    {
      id: 'openai',
      protocol: 'openai-responses',
      baseUrl: 'http://127.0.0.1:9/v1',
      apiKey: 'oa',
      headers,
      models: [unknown('gpt-5.5')],
    },
    {
      id: 'anthropic',
      protocol: 'anthropic',
      baseUrl: 'https://api.anthropic.com',
      apiKey: 'an',
      headers,
      models: [unknown('claude-sonnet-5-5')],
    },
    {
      id: 'openrouter',
      protocol: 'openai',
      baseUrl: 'https://openrouter.ai/api/v1',
      apiKey: 'or',
      headers,
      models: [unknown('openrouter/auto')],
    },
    {
      id: 'ollama',
      protocol: 'openai',
      baseUrl: 'http://10.0.0.7:11434/v1',
      apiKey: undefined,
      headers,
      models: [unknown('llama3.2')],
    },
  ])
  assert.equal(config.defaultModel, 'openai/gpt-5.5')
  assert.equal(readConfig({ OPENROUTER_API_KEY: 'or' }).defaultModel, 'openrouter/openrouter/auto')
})

test('OLLAMA_HOST comes with or without scheme and port, as Ollama reads it', () => {
  const hosts = {
    localhost: 'http://localhost:11434/v1',
    '0.0.0.0': 'http://127.0.0.1:11434/v1',
    'box:1234': 'http://box:1234/v1',
    'box:80': 'http://box/v1',
    ':1234': 'http://127.0.0.1:1234/v1',
    '[::1]': 'http://[::1]:11434/v1',
    'http://box:11434/': 'http://box:11434/v1',
    'http://box': 'http://box/v1',
    'https://box.test/ollama/': 'https://box.test/ollama/v1',
  }
  for (const [host, baseUrl] of Object.entries(hosts)) {
    assert.equal(readConfig({ OLLAMA_HOST: host }).providers[0]?.baseUrl, baseUrl)
  }
})

test('a file lists any number of providers, models and prices, and stands before the variables', async () => {
  const text = `{
    // a comment
    "providers": [
      {
        "id": "vllm", "protocol": "openai", "baseURL": "http://gpu:8000/v1/", "headers": { "x-team": "a" },
        "models": [{ "id": "meta/llama", "name": "Llama", "contextLength": 8192,
                     "pricing": { "input": 0.15, "output": "2.000000001", "cacheRead": 0 } }],
      },
      { "id": "openai", "protocol": "openai", "baseURL": "https://api.openai.com/v1", "apiKeyEnv": "MY_KEY" },
    ],
    "defaultModel": "openai/gpt-x",
  }`
  const config = await withFile(text, (path) => {
    return readConfig({ PORTICO_CONFIG: path, OPENAI_API_KEY: 'oa', MY_KEY: 'mine', OLLAMA_HOST: 'box' })
  })
  const pricing = create(PricingSchema, {
    inputNanos: 150_000_000n,
    outputNanos: 2_000_000_001n,
    cacheReadNanos: 0n,
    cacheWriteNanos: 150_000_000n,
  })
  const modalities = { inputModalities: undefined, outputModalities: undefined }
  const unsaid = { ...modalities, description: undefined, outputLimit: undefined, policy: undefined }
  assert.deepEqual(config.providers.slice(0, 2), [
    {
      id: 'vllm',
      protocol: 'openai',
      baseUrl: 'http://gpu:8000/v1',
      apiKey: undefined,
      headers: { 'x-team': 'a' },
      cache: undefined,
      policy: undefined,
      models: [{ id: 'meta/llama', displayName: 'Llama', contextLength: 8192, pricing, ...unsaid }],
    },
    {
      id: 'openai',
      protocol: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      apiKey: 'mine',
      headers: {},
      cache: undefined,
      policy: undefined,
      models: [unknown('gpt-5.5')],
    },
  ])
  assert.deepEqual(
    config.providers.map(({ id }) => id),
    ['vllm', 'openai', 'ollama'],
  )
  assert.equal(config.defaultModel, 'openai/gpt-x')
})

test('every problem of the variables and the file is reported at once', async () => {
  const text = `{
    "providers": [
      { "id": "portico", "protocol": "openai", "baseURL": "http://a" },
      { "id": "A B", "protocol": "grpc", "baseURL": "ftp://a" },
      { "id": "x", "protocol": "openai", "baseURL": "http://a", "apiKeyEnv": "NOT_SET", "models": [{ "id": "" }] },
      { "id": "y", "protocol": "openai", "baseURL": "http://a", "apiKeyEnv": "NOT_SET" },
      { "id": "z", "protocol": "openai", "baseURL": "http://a", "models": [{ "id": "m", "pricing": { "input": -1, "output": 1 } }] }
    ]
  }`
  const problems = await withFile(text, (path) => problemsOf({ PORTICO_CONFIG: path, OPENAI_BASE_URL: 'nowhere' }))
  assert.deepEqual(problems, [
    { variable: 'OPENAI_BASE_URL', problem: 'must be an http:// or https:// URL' },
    { variable: 'PORTICO_CONFIG', problem: 'providers.0.id: portico is built in' },
    {
      variable: 'PORTICO_CONFIG',
      problem: 'providers.1.id: must be lower-case letters, digits, `.`, `_` and `-`',
    },
    {
      variable: 'PORTICO_CONFIG',
      problem: 'providers.1.protocol: must be "openai", "openai-responses" or "anthropic"',
    },
    { variable: 'PORTICO_CONFIG', problem: 'providers.1.baseURL: must be an http:// or https:// URL' },
    {
      variable: 'PORTICO_CONFIG',
      problem: 'providers.2.models.0.id: must not be empty',
    },
    { variable: 'PORTICO_CONFIG', problem: 'providers.3.apiKeyEnv: NOT_SET is not set' },
    {
      variable: 'PORTICO_CONFIG',
      problem: 'providers.4.models.0.pricing.input: must be US dollars per million tokens, from 0 to 999999999',
    },
  ])
})

test('a file that is missing, is not JSON, names a provider twice or an unknown default model is refused', async () => {
  const problem = (text: string) => withFile(text, (path) => problemsOf({ PORTICO_CONFIG: path }))
  const variable = 'PORTICO_CONFIG'
  assert.deepEqual(problemsOf({ PORTICO_CONFIG: '/nowhere/portico.json' }), [
    { variable, problem: '/nowhere/portico.json cannot be read (ENOENT)' },
  ])
  assert.match(
    JSON.stringify(await problem('{"providers": nothing}')),
    /portico\.jsonc must be valid JSON \(character 14\)"}\]$/,
  )
  const provider = '{"id": "x", "protocol": "openai", "baseURL": "http://a"}'
  const keyless = provider.replace('}', ', "apiKeyFile": "/nowhere/key"}')
  assert.deepEqual(await problem(`{"providers": [${keyless}, ${provider}], "defaultModel": "y/z"}`), [
    { variable, problem: 'providers.0.apiKeyFile: /nowhere/key cannot be read (ENOENT)' },
    { variable, problem: 'providers.1.id: x is used twice' },
    { variable, problem: 'defaultModel: no configured provider has y/z' },
  ])
  assert.deepEqual(await problem(`{"providers": [${provider}, ${provider}]}`), [
    { variable, problem: 'providers.1.id: x is used twice' },
  ])
  assert.deepEqual(await problem('{"defaultModel": "y/z"}'), [
    { variable, problem: 'defaultModel: no configured provider has y/z' },
  ])
})

test('the key of a listed provider may lie in a file, and has one source only', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-config-'))
  const key = join(directory, 'key')
  await writeFile(key, 'from-a-file\n')
  const provider = (keys: object) =>
    JSON.stringify({ providers: [{ id: 'x', protocol: 'openai', baseURL: 'http://a', ...keys }] })
  try {
    const config = await withFile(provider({ apiKeyFile: key }), (path) => readConfig({ PORTICO_CONFIG: path }))
    const { apiKey, apiKeyFile } = config.providers[0] ?? assert.fail()
    assert.deepEqual([apiKey, apiKeyFile], ['from-a-file', key])
    for (const [keys, problem] of [
      [{ apiKey: 'k', apiKeyFile: key }, 'apiKeyFile: must not be set together with apiKey'],
      [{ apiKeyEnv: 'KEY', apiKeyFile: key }, 'apiKeyFile: must not be set together with apiKeyEnv'],
      [{ apiKey: 'k', apiKeyEnv: 'KEY' }, 'apiKeyEnv: must not be set together with apiKey'],
      [{ apiKeyFile: '/nowhere/key' }, 'apiKeyFile: /nowhere/key cannot be read (ENOENT)'],
    ] as const) {
      const problems = await withFile(provider(keys), (path) => problemsOf({ PORTICO_CONFIG: path, KEY: 'k' }))
      assert.deepEqual(problems, [{ variable: 'PORTICO_CONFIG', problem: `providers.0.${problem}` }])
    }
  } finally {
    await rm(directory, { recursive: true })
  }
})
