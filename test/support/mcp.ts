import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { asOperator, type CatalogFixture } from './catalog.ts'
import { waitFor } from './wait-until.ts'

const script = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const PACKAGES = '../../node_modules/@modelcontextprotocol'

/** Entry of a server from npm. */
export function packagedServer(name: 'everything' | 'filesystem', ...words: readonly string[]) {
  const program = script(`${PACKAGES}/server-${name}/dist/index.js`)
  return { type: 'local', command: [process.execPath, program, ...words] } as const
}

/** Entry of the scripted server (test/fixtures/mcp), and its log: calls and cancellations. */
export function scriptedServer(folder: string, mode = '') {
  const log = join(folder, `mcp-${mode}.log`)
  const command = [process.execPath, script('../fixtures/mcp/scripted-server.ts'), log, mode]
  const lines = async () => (await readFile(log, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '')
  return { entry: { type: 'local', command }, log, lines } as const
}

/** Writes the MCP servers of the user's own configuration. */
export async function configureMcp(directory: string, mcp: object): Promise<void> {
  await writeFile(join(directory, 'opencode.json'), JSON.stringify({ mcp }))
}

/** Waits until tools of these servers are offered, for longer than a list of tools waits for a server that starts. */
export async function untilOffered({ client }: CatalogFixture, ...servers: readonly string[]): Promise<void> {
  await waitFor(`tools of ${servers.join()}`, async () => {
    const { tools } = await client.listTools({}, asOperator)
    return servers.every((server) => tools.some(({ name }) => name.startsWith(`${server}_`)))
  })
}

/** The MCP servers of the fixture's project, by name. */
export async function mcpServers({ client }: CatalogFixture) {
  const { servers } = await client.listMcpServers({}, asOperator)
  return Object.fromEntries(servers.map((server) => [server.name, server]))
}
