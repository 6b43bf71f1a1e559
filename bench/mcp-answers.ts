// How long the largest responses of an MCP server block the event loop of the catalog: the longest delay of a timer
// during a call, compared with parsing and printing the same JSON at once. Usage: mcp-answers.ts
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { asOperator, openCatalog, runTool } from '#test/support/catalog.ts'
import { configureMcp } from '#test/support/mcp.ts'

const ROUNDS = 7

/** The result of each tool, as a function that the server also has. */
const RESULTS: Readonly<Record<string, () => object>> = {
  text: () => ({ content: [{ type: 'text', text: 'x'.repeat(15e6) }] }),
  image: () => ({ content: [{ type: 'image', mimeType: 'image/png', data: `iVBORw0KGgo${'A'.repeat(14_999_989)}` }] }),
  texts: () => ({
    content: [],
    structuredContent: { a: Array.from({ length: 95_000 }, (_, i) => `${i} ${'y'.repeat(130)}`) },
  }),
  objects: () => ({
    content: [],
    structuredContent: { a: Array.from({ length: 30_000 }, (_, id) => ({ id, text: 'y'.repeat(400) })) },
  }),
  names: () => ({
    content: [],
    structuredContent: Object.fromEntries(Array.from({ length: 19_900 }, (_, i) => [`${i} ${'y'.repeat(700)}`, i])),
  }),
  halves: () => ({ content: [], structuredContent: { a: '\ud83d'.repeat(2_500_000) } }),
}

const SERVER = `import { createInterface } from 'node:readline'
const results = { ${Object.entries(RESULTS).map(([name, result]) => `${name}: ${result}`)} }
const serverInfo = { name: 'large', version: '1' }
const tools = Object.keys(results).map((name) => ({ name, inputSchema: { type: 'object' } }))
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const result =
    method === 'initialize' ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
    : method === 'tools/list' ? { tools }
    : results[params.name]()
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
}`

await using catalog = await openCatalog()
await writeFile(join(catalog.outside, 'server.mjs'), SERVER)
const command = [process.execPath, join(catalog.outside, 'server.mjs')]
await configureMcp(catalog.config, { large: { type: 'local', command } })
await catalog.client.listTools({}, asOperator)
for (const [name, result] of Object.entries(RESULTS)) {
  const text = JSON.stringify(result())
  const held: number[] = []
  const plain: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    held.push(await longestDelay(async () => void (await runTool(catalog, `large_${name}`, {}))))
    plain.push(await longestDelay(async () => void JSON.stringify(JSON.parse(text))))
  }
  const [a, b] = [held, plain].map((all) => all.sort((one, other) => one - other))
  const shown = (all: number[] = []) => `${middle(all)} (${all[0]} to ${all.at(-1)})`
  console.log(
    `${name}: ${(text.length / 1e6).toFixed(1)} MB held ${shown(a)} ms, parsed and printed ${shown(b)} ms, ratio ${(middle(a) / middle(b)).toFixed(2)}`,
  )
}

async function longestDelay(work: () => Promise<void>): Promise<number> {
  await delay(200)
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  histogram.enable()
  await delay(20)
  await work()
  await delay(20)
  histogram.disable()
  return Math.round(histogram.max / 1e6)
}

function middle(sorted: number[] = []): number {
  return sorted[sorted.length >> 1] ?? Number.NaN
}
