import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { z } from 'zod'
import { routesOf } from '#gateway/app/app.ts'
import { ALL_OPERATIONS } from '#gateway/app/operations.ts'
import { readConfig } from '#gateway/config.ts'
import type { Facade } from '#gateway/facade.ts'
import type { Operation } from '#gateway/operation.ts'
import { openFacade } from '#test/support/facade.ts'
import { openapiDocument } from './openapi.ts'

/** JSON of the document, as the walk reads it. */
interface Node {
  readonly [member: string]: unknown
}

const document = JSON.parse(JSON.stringify(openapiDocument())) as {
  readonly paths: Record<string, Record<string, Node>>
}

/** Members that only Anthropic interprets, in the bodies of an operation. */
const anthropics = (operation: string): string[] =>
  [
    ...['[]', '.container', '.context_management', '.mcp_servers[][]', '.safeguards[][]', '.system[][]', '.thinking[]'],
    ...['.messages[][]', '.tools[].input_schema', '.tools[][]', '.output_config.format.schema'],
    '.output_format.schema',
  ].map((member) => `${operation}${member}`)

/** Members that the contract leaves free, and why. */
const FREE: Readonly<Record<string, readonly string[]>> = {
  'Data of the client, which the server only keeps (`Session.Metadata`)': [
    'session.create.metadata',
    'session.prompt.metadata',
    'session.prompt.prompt.metadata',
    'session.synthetic.metadata',
    'session.update.metadata',
    'Session.Info.metadata',
    'experimental.session.import.info.metadata',
    'Session.Inbox.Synthetic.payload.metadata',
    'Session.Inbox.User.payload.metadata',
    'Session.Message.Info.metadata',
    'Event.data.metadata',
    'Event.data.item.payload.metadata',
  ],
  'Each tool has arguments of its own, and shows what it wants': [
    'Session.Message.Info.content[].state.input',
    'Session.Message.Info.content[].state.metadata',
    'Event.data.input',
  ],
  'Data of a provider, which gets it back untouched': [
    'Session.Message.Info.content[].state',
    'Session.Message.Info.content[].providerState',
    'Session.Message.Info.content[].providerResultState',
    'Session.Message.Info.providerState',
    'Session.Message.Info.providerContext',
    'Event.data.state',
  ],
  'What another server exports, and nobody takes over': ['experimental.session.import.info.revert'],
  'Settings of the agent’s files, which the provider reads': ['Agent.Info.request.settings', 'Agent.Info.request.body'],
  'A JSON Schema, which the provider reads': [
    'responses.create.tools[].parameters',
    ...['responses.create.tools[].tools[].parameters', 'responses.create.input[].tools[].parameters'],
    'responses.create.input[].tools[].tools[].parameters',
    ...['chat.completions.create.response_format.json_schema.schema'],
    'chat.completions.create.tools[].function.parameters',
    'TextFormat.schema',
    'TextFormatOutput.schema',
    'Response.tools[].parameters',
  ],
  'Anthropic’s own, which goes there and comes from there as it is': [
    ...['Messages.ContentBlock.citations[]', 'Messages.ContentBlock.input', 'Messages.ContentBlock[]'],
    ...['Messages.InputBlock.content[].source.content', 'Messages.InputBlock.content[][]'],
    ...['Messages.InputBlock.input', 'Messages.InputBlock.source.content', 'Messages.InputBlock[]'],
    ...['Messages.Event.delta.citation', 'Messages.Event.delta.container', 'Messages.Event.delta.stop_details'],
    ...['Messages.Event[]', 'Messages.Message.container', 'Messages.Message.stop_details', 'Messages.Message[]'],
    ...['Messages.Usage.cache_creation', 'Messages.Usage.iterations[]', 'Messages.Usage.server_tool_use'],
    'Messages.Usage[]',
    ...['messages.create', 'messages.countTokens'].flatMap(anthropics),
  ],
  'OpenAI’s own tools and items, which go there and come from there as they are': [
    ...['responses.create.input[][]', 'responses.create.input[].tools[][]', 'responses.create.tools[][]'],
    ...['Response.OutputItem[]', 'Response.tools[][]', 'chat.completions.create.tools[][]'],
    ...['ToolChoice.tools[][]', 'ToolChoice[]', 'ToolChoiceOutput.tools[][]', 'ToolChoiceOutput[]'],
    'responses.create.x_search_filter',
  ],
  'Each server tool has settings of its own': ['Plugin.tools[].parameters', 'Plugin.x_search'],
  'Ids of a trace, beside which anything goes into the span': [
    ...[
      'messages.create.trace[]',
      'messages.countTokens.trace[]',
      'chat.completions.create.trace[]',
      'responses.create.trace[]',
    ],
  ],
  'Each image model has settings of its own': ['responses.create.image_config', 'chat.completions.create.image_config'],
  'A preset keeps the settings of a request, whatever is free in one, and ignores what is said': [
    ...['presets.createFromChat.image_config', 'presets.createFromChat.messages', 'presets.createFromChat.tools[][]'],
    'presets.createFromChat.response_format.json_schema.schema',
    ...['presets.createFromChat.tools[].function.parameters', 'presets.createFromChat.trace[]'],
    ...['presets.createFromMessages.container', 'presets.createFromMessages.context_management'],
    ...['presets.createFromMessages.mcp_servers[][]', 'presets.createFromMessages.output_config.format.schema'],
    ...['presets.createFromMessages.output_format.schema', 'presets.createFromMessages.safeguards[][]'],
    ...['presets.createFromMessages.system[][]', 'presets.createFromMessages.thinking[]'],
    ...['presets.createFromMessages.tools[].input_schema', 'presets.createFromMessages.tools[][]'],
    ...['presets.createFromMessages.trace[]', 'presets.createFromResponses.image_config'],
    ...['presets.createFromResponses.tools[].parameters', 'presets.createFromResponses.trace[]'],
    ...['presets.createFromResponses.tools[].tools[].parameters', 'presets.createFromResponses.tools[][]'],
    'PresetVersion.config',
  ],
  'A key set, whose keys have members of their kinds (RFC 7517)': [
    'issuers.create.jwks',
    'issuers.update.jwks',
    'Issuer.jwks',
  ],
  'A record as it was, also when its form was another one': ['AuditEntry.before', 'AuditEntry.after'],
  'OpenAPI says what an OpenAPI document is': ['openapi.get'],
}

test('GET /openapi.json answers the document that is checked in, without credentials, in every mode', async () => {
  const written = readFileSync(new URL('../docs/openapi.json', import.meta.url), 'utf8')
  const basic = { PORTICO_AUTH: 'basic', PORTICO_BASIC_PASSWORD: 'secret' }
  const modes: Record<string, string>[] = [{}, basic, { PORTICO_AUTH: 'bearer' }]
  for (const mode of modes) {
    await using facade = await openFacade({}, mode)
    const answer = await facade.fetch('/openapi.json')
    assert.equal(answer.status, 200)
    assert.deepEqual(await answer.json(), JSON.parse(written))
  }
})

test('the document has every operation once, by its id, and the server has no route that is no operation', async () => {
  const known = ALL_OPERATIONS.map(({ method, path, id }) => `${method} ${path} ${id}`).toSorted()
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
  )
  assert.deepEqual(described.toSorted(), known)
  assert.equal(new Set(ALL_OPERATIONS.map(({ id }) => id)).size, ALL_OPERATIONS.length)
  await using facade = await openFacade()
  const stub = { config: readConfig({}) } as unknown as Facade
  const routed = routesOf(ALL_OPERATIONS, stub, {} as unknown as Parameters<typeof routesOf>[2])
  const layers = [facade.app.router, routed].flatMap(({ stack }) => stack)
  const served = layers.flatMap(({ route }) =>
    (route?.stack ?? []).flatMap(({ method }) => (method === undefined ? [] : [`${method} ${route?.path}`])),
  )
  const routes = ALL_OPERATIONS.map(({ method, path }) => {
    const route = path.replace(/\{(\w+)\}/g, ':$1')
    // Everything below /api/v1 is also below /v1, but described once.
    return `${method} ${route.startsWith('/api/v1/') ? [route, route.slice('/api'.length)] : route}`
  })
  assert.deepEqual(served.toSorted(), routes.toSorted())
})

test('no path takes the requests of a later one', () => {
  const paths = [...new Set(ALL_OPERATIONS.map(({ path }) => path))]
  for (const [i, path] of paths.entries()) {
    const earlier = paths.slice(0, i).find((other) => fits(other, path))
    assert.equal(earlier, undefined, path)
  }
})

test('no schema is unknown, or open to any member, except those that the contract leaves free', () => {
  const free = new Set<string>()
  walk(document, '', free)
  assert.deepEqual([...free].toSorted(), Object.values(FREE).flat().toSorted())
})

test('each schema converts nothing: it is JSON Schema of the draft 2020-12, in and out', () => {
  let schemas = 0
  for (const operation of ALL_OPERATIONS) {
    for (const schema of schemasOf(operation)) {
      for (const io of ['input', 'output'] as const) {
        assert.ok(z.toJSONSchema(schema, { target: 'draft-2020-12', io }).$schema, operation.id)
        schemas++
      }
    }
  }
  assert.ok(schemas > 50)
})

function schemasOf({ params, query, headers, body, answer }: Operation): z.ZodType[] {
  const of = (kind: z.ZodType | object | undefined): z.ZodType[] => {
    if (kind === undefined) return []
    if (kind instanceof z.ZodType) return [kind]
    return Object.values(kind).flatMap((member) => (typeof member === 'object' ? of(member as object) : []))
  }
  return [params, query, headers, body, answer].flatMap(of)
}

function fits(template: string, path: string): boolean {
  const [parts, given] = [template.split('/'), path.split('/')]
  return parts.length === given.length && parts.every((part, i) => part.startsWith('{') || part === given[i])
}

const SAYING = ['$ref', 'anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'type']

/** Collects where schemas are open; `at` is the operation or component, and the members leading to the schema. */
function walk(value: unknown, at: string, open: Set<string>, schema = false): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) walk(item, at, open, schema)
    return
  }
  const node = value as Node
  if (!schema) {
    for (const [name, member] of Object.entries(node)) {
      if (name === 'schemas') for (const [id, each] of Object.entries(member as Node)) walk(each, id, open, true)
      else walk(member, String(node.operationId ?? at), open, name === 'schema')
    }
    return
  }
  if (isOpen(node)) {
    open.add(at)
    return
  }
  for (const [name, member] of Object.entries((node.properties ?? {}) as Node))
    walk(member, `${at}.${name}`, open, true)
  for (const inner of [node.items, node.additionalProperties]) walk(inner, `${at}[]`, open, true)
  // Beside a type, `allOf` narrows that type.
  const all = node.type === undefined ? node.allOf : undefined
  for (const inner of [node.anyOf, node.oneOf, all]) walk(inner, at, open, true)
}

function isOpen(node: Node): boolean {
  if (!SAYING.some((word) => word in node)) return true
  const { type, additionalProperties: more } = node
  if (type === 'array') return node.items === undefined
  if (type !== 'object' || 'properties' in node || 'oneOf' in node || 'anyOf' in node) return false
  return more === undefined || more === true || (typeof more === 'object' && Object.keys(more as Node).length === 0)
}
