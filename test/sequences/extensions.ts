import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scriptedServer } from '#test/support/mcp.ts'
import { type Asked, asking } from './asked.ts'
import type { SessionClient } from './session-client.ts'

/** A plugin whose tool leaves a line, as commands do. */
const STEADY = `
import { appendFileSync } from 'node:fs'
export default {
  id: 'steady',
  setup({ tool }) {
    const inputSchema = { type: 'object', properties: { tag: { type: 'string' }, calls: { type: 'string' } } }
    const execute = ({ tag, calls }, { directory }) => (appendFileSync(calls, tag + ' ' + directory + '\\n'), 'noted')
    tool({ name: 'note', description: 'Notes', inputSchema, execute })
  },
}`

/** A plugin that fails for commands that end in a certain comment: once, until its location is reloaded. */
const FAULTY = `
import { execFileSync } from 'node:child_process'
export default {
  id: 'faulty',
  setup({ hook }) {
    const says = (given, what) => JSON.stringify(given).includes('# ' + what)
    hook('prompt', (prompt) => { while (says(prompt, 'loop')); })
    hook('tool.before', ({ input }) => says(input, 'exit') && execFileSync('kill', ['-SEGV', String(process.pid)]))
    hook('tool.after', ({ input }) => { if (says(input, 'throw')) throw new Error('It has to') })
  },
}`

/** Gives a project two plugins and an MCP server, whose tools leave lines. */
export function writeExtensions(project: string, scratch: string): void {
  const plugins = join(project, '.opencode', 'plugins')
  mkdirSync(plugins, { recursive: true })
  writeFileSync(join(plugins, 'steady.js'), STEADY)
  writeFileSync(join(plugins, 'faulty.js'), FAULTY)
  writeFileSync(join(project, 'opencode.json'), JSON.stringify({ mcp: { server: scriptedServer(scratch).entry } }))
}

/** Rebuilds all locations: whatever waited for permission waits no more. */
export async function reload(session: SessionClient): Promise<void> {
  const former = await waiting(session)
  const { asked, body } = await session.client.ask('POST', '/api/location/reload')
  session.history.reloads.push(asked)
  if (asked.status === undefined) return
  if (asked.status !== 204) return session.wrong('reload', asked, body)
  const still = (await waiting(session)).filter((id) => former.includes(id))
  if (still.length > 0) session.history.problems.push(`${still} waited before a reload, and waits still`)
}

async function waiting(session: SessionClient): Promise<string[]> {
  const { body } = await session.send('GET', '/permission')
  return ((body as { data?: { id: string }[] } | undefined)?.data ?? []).map(({ id }) => id)
}

interface Listed {
  readonly id?: string
  readonly name?: string
  readonly state?: { readonly status: string; readonly error?: string }
  readonly status?: string
}

/** Checks the plugins and the servers: only the plugin that is meant to fail has failed. */
export async function lookAtExtensions(session: SessionClient): Promise<void> {
  const directory = encodeURIComponent(session.scene.places.home)
  for (const path of ['plugin', 'mcp']) {
    const answer: { asked: Asked; body: unknown } = { asked: asking(), body: undefined }
    Object.assign(answer, await session.client.get(`/api/${path}?location[directory]=${directory}`))
    if (answer.asked.status === undefined) continue
    const { data } = (answer.body ?? {}) as { data?: Listed[] }
    const names = data?.map(({ id, name }) => id ?? name)
    const steady = data?.find(({ id }) => id === 'steady')
    if (path === 'plugin' ? names?.join() !== 'faulty,steady' : names?.join() !== 'server')
      session.wrong(path, answer.asked, answer.body)
    if (steady?.state?.status === 'failed') session.wrong('what another plugin did', answer.asked, steady.state)
  }
}
