// A limit has one owner: the proto of a service states it, and the service enforces it. The gateway documents it, and
// reads it there.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type DescField, type DescFile, type DescMessage, hasOption } from '@bufbuild/protobuf'
import { limit } from '#gen/portico/options/v1/limit_pb.js'
import { ListSavedApprovalsResponseSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { MOST_APPROVALS } from '#services/session/adapters/common/session-lists.ts'
import { limitOf } from '#shared/rpc/field-limits.ts'

const product = (pattern: string) =>
  globSync(pattern)
    .filter((path) => !path.endsWith('.test.ts'))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }))

/** Limits of what a service returns: it keeps them by the way it builds the list. */
const OF_RESPONSES: ReadonlySet<string> = new Set([
  // Provoked in services/session/rpc/inbox-items.test.ts.
  'ListInboxItemsResponse.items',
  // Provoked in services/session/domain/stats/stats.test.ts.
  'SessionStats.models',
  'ToolUsageList.tools',
  // Below.
  'ListSavedApprovalsResponse.approvals',
])

test('a service enforces each limit that a proto sets', async () => {
  const code = product('services/**/*.ts')
    .map(({ text }) => text)
    .join('\n')
  const files = await protoFiles()
  const messages = files.flatMap((file) => file.messages.flatMap(withNested))
  const deep = new Set(
    messages
      .filter(({ name }) => code.includes(`checkAllLimits(${name}Schema)`))
      .flatMap((message) => [...within(message)]),
  )
  const isEnforced = (message: string, field: DescField): boolean =>
    deep.has(field.parent) ||
    [
      `checkLimits(${message}Schema)`,
      `limitOf(${message}Schema.field.${field.localName})`,
      ...(field.name === 'page_size' ? [`sliceParser(${message}Schema)`, `pageSizeParser(${message}Schema)`] : []),
    ].some((call) => code.includes(call))
  const limited = messages
    .flatMap(({ name, fields }) => fields.map((field) => ({ name, field })))
    .filter(({ field }) => hasOption(field, limit))
  assert.ok(limited.length > 100)
  const unenforced = limited.filter(({ name, field }) => !isEnforced(name, field))
  assert.deepEqual(new Set(unenforced.map(({ name, field }) => `${name}.${field.name}`)), OF_RESPONSES)
  assert.equal(limitOf(ListSavedApprovalsResponseSchema.field.approvals).most, MOST_APPROVALS)
})

/** Bounds that the gateway states itself, by file, each with its reason. */
const OWN: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'What the wire carries: the service refuses less, or has no bound': {
    'gateway/generation/routing.ts': ['1_000_000'],
    'gateway/records/error.ts': ['2_147_483_647', '2_147_483_647'],
    'gateway/records/message.ts': ['2_147_483_647'],
    'gateway/records/prompt.ts': ['2_147_483_647'],
    'gateway/records/time.ts': ['253_402_300_799_999'],
    'gateway/records/usage.ts': ['9_000_000_000'],
  },
  'Members that no service is sent: they are checked, and at most reported as not applied': {
    'gateway/generation/plugins.ts': ['1_024', '1_024', '1_024', '10', '25', '8', '16', '8', '256', '65536'],
    'gateway/generation/request.ts': ['86_400'],
    'gateway/generation/settings.ts': ['64', '256'],
    'gateway/responses/body.ts': ['8_388_608', '256', '2'],
    'gateway/chat/body.ts': ['2'],
  },
  'Anthropic’s own members and headers, which a service passes on unread': {
    'gateway/messages/body.ts': ['64', '64', '256', '256', '64', '3'],
    'gateway/messages/operations.ts': ['4_096'],
  },
  'Headers, settings and answers of the gateway’s own': {
    'gateway/config.ts': ['255'],
    'gateway/event/operations.ts': ['1_024', '1024'],
    'gateway/oauth/schemas.ts': ['900'],
  },
  'MiB, of which no field has the sum': {
    'gateway/session/inbox.ts': ['40'],
    'gateway/session/prompt.ts': ['20'],
    'gateway/session/transfer/operations.ts': ['6.5'],
  },
}

test('the gateway repeats no limit of a service in numbers, neither in a schema nor in words', () => {
  const found = product('gateway/**/*.ts').map(({ path, text }) => [path, saidLimits(text)] as const)
  const said = Object.fromEntries(found.filter(([, limits]) => limits.length > 0))
  const own = Object.values(OWN).flatMap((files) => Object.entries(files))
  assert.deepEqual(said, Object.fromEntries(own.toSorted(([a], [b]) => (a < b ? -1 : 1))))
})

test('a limit in numbers is found in each form of code and text', () => {
  for (const code of [
    'z.string().max(16)',
    'const MOST = 16\nz.string().max(MOST, "long")',
    'z.string().meta({ maxLength: 16 })',
    'z.number().meta({ maximum: 16 })',
    "x.meta({ description: 'Names; at most 16' })",
  ]) {
    assert.deepEqual(saidLimits(code), ['16'], code)
  }
  assert.deepEqual(saidLimits("const SUMMARY = 'The 1,000 most used ones'"), ['1,000'])
  for (const code of ['z.array(z.never()).max(0)', 'z.string().max(most)', '/** At most 16 of them. */']) {
    assert.deepEqual(saidLimits(code), [], code)
  }
})

/** A schema's upper bound: a name, or a number that does more than say "none" or "one". */
const BOUND = /(?:\.(?:max|lte?|length)\(|\bmax(?:Length|Items|Properties|imum): )(?:([A-Z]\w*)|(?![01]\b)(\d[\d_]*))/g
/** Outside comments: a bound, or a number as people write one. */
const IN_WORDS = /^(?! *(?:\*|\/[/*])).*?(?:\bat most (\d[\d,_.]*\d|\d)|[^{,\d](\d{1,3}(?:,\d{3})+)\b)/gim

function saidLimits(text: string): string[] {
  const ofName = (name: string | undefined) => new RegExp(`\\bconst ${name} = (\\d[\\d_]*)\\b`).exec(text)?.[1] ?? []
  const bounds = [...text.matchAll(BOUND)].flatMap(([, name, number]) => number ?? ofName(name))
  return [...bounds, ...[...text.matchAll(IN_WORDS)].flatMap(([, bound, number]) => bound ?? number ?? [])]
}

async function protoFiles(): Promise<DescFile[]> {
  const isFile = (value: unknown): value is DescFile => (value as { kind?: unknown } | undefined)?.kind === 'file'
  const load = (path: string) => import(`../../${path}`) as Promise<Readonly<Record<string, unknown>>>
  const modules = await Promise.all(globSync('gen/portico/**/*_pb.js').map(load))
  return modules.flatMap((exports) => Object.values(exports).filter(isFile))
}

function withNested(message: DescMessage): DescMessage[] {
  return [message, ...message.nestedMessages.flatMap(withNested)]
}

/** A message and all messages in it. */
function within(message: DescMessage, seen = new Set<DescMessage>()): Set<DescMessage> {
  if (seen.has(message)) return seen
  seen.add(message)
  for (const field of message.fields) if (field.message !== undefined) within(field.message, seen)
  return seen
}
