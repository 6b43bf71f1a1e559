import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { InstanceClient } from '#test/support/instance-client.ts'
import { linesOf } from '#test/support/lines-of.ts'
import { scriptedServer } from '#test/support/mcp.ts'

/** A command that prints endlessly. */
export const PRINTING = 'while :; do echo lighthouse; sleep 0.01; done'

/** Where work is done, and which of it is random. */
export interface Means {
  readonly project: string
  /** Each call leaves a line in it. */
  readonly calls: string
  /** Occurs in the command lines of processes that commands leave behind. */
  readonly marker: string
  /** Returns numbers from 0 up to, but not including, 1. */
  readonly random: () => number
}

/** What was accepted: prompts, each with whether it had a file, and compactions. */
export interface Accepted {
  readonly prompts: Map<string, boolean>
  readonly compactions: Set<string>
}

/** A session: what it is created with, and what a client sends it under an id. */
export interface Worker {
  readonly sessionId: string
  readonly create: object
  readonly send: (client: InstanceClient, id: string) => Promise<void>
}

/** A plugin whose tool leaves a line and takes a moment, and which is shown each prompt. */
const counter = (calls: string): string => `
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
export default {
  id: 'counter',
  setup({ tool, hook }) {
    tool({
      name: 'count',
      description: 'Counts',
      inputSchema: { type: 'object', properties: { tag: { type: 'string' } }, required: ['tag'] },
      async execute({ tag }) {
        appendFileSync(${JSON.stringify(calls)}, tag + '\\n')
        await sleep(60)
        return 'counted'
      },
    })
    hook('prompt', () => sleep(10, {}))
  },
}`

/** A project whose plugin and whose MCP server count their calls. */
export class ExtendedProject {
  readonly directory: string
  readonly #calls: string
  readonly #log: string

  constructor({ project, calls }: Means) {
    this.directory = join(project, 'extended')
    mkdirSync(join(this.directory, '.opencode', 'plugins'), { recursive: true })
    writeFileSync(join(this.directory, '.opencode', 'plugins', 'counter.js'), counter(calls))
    const { entry, log } = scriptedServer(this.directory)
    this.#calls = calls
    this.#log = log
    const permissions = ['mcp', 'count'].map((action) => ({ action, resource: '*', effect: 'allow' }))
    const document = { permissions, mcp: { server: entry } }
    writeFileSync(join(this.directory, 'opencode.json'), JSON.stringify(document))
  }

  /** Tags of the calls that have reached the plugin or the server. */
  calls(what: 'plugin' | 'server'): string[] {
    if (what === 'plugin') return linesOf(this.#calls).filter((tag) => tag.endsWith('-plugin'))
    return linesOf(this.#log).flatMap((line) => /^call \S+ wait (\S+)/.exec(line)?.[1] ?? [])
  }
}

/**
 * Sessions that run commands, sessions that use the plugin and the MCP server, and sessions whose model has a small
 * context.
 */
export function workers(means: Means, extended: ExtendedProject, { prompts, compactions }: Accepted): Worker[] {
  const { random } = means
  const prompt = async (client: InstanceClient, sessionId: string, id: string, text: string): Promise<void> => {
    const [file, resume] = [random() < 0.25, random() < 0.9]
    await client.prompt(sessionId, { id, text, delivery: 'queue', resume, ...(file && { files: [fileOf(id)] }) })
    prompts.set(id, file)
  }
  const plain = (sessionId: string): Worker => ({
    sessionId,
    create: {},
    async send(client, id) {
      const text = commandText(id, means)
      await prompt(client, sessionId, id, text)
      if (!text.includes(PRINTING)) return
      await sleep(100 + random() * 300)
      await client.post(`/api/session/${sessionId}/interrupt`, undefined)
    },
  })
  const calling = (sessionId: string): Worker => ({
    sessionId,
    create: { location: { directory: extended.directory } },
    send: (client, id) => prompt(client, sessionId, id, callingText(id, random())),
  })
  const small = (sessionId: string): Worker => ({
    sessionId,
    create: { model: { providerID: 'portico', id: 'echo-small' } },
    async send(client, id) {
      if (random() < 0.6) return prompt(client, sessionId, id, `/length 5\n${'word '.repeat(random() * 800)}`)
      const { data } = (await client.post(`/api/session/${sessionId}/compact`, { id })) as { data: { id: string } }
      compactions.add(data.id)
    },
  })
  return [
    ...['a', 'b', 'c'].map((name) => plain(`ses_plain${name}`)),
    ...['a', 'b', 'c'].map((name) => calling(`ses_calling${name}`)),
    ...['a', 'b'].map((name) => small(`ses_small${name}`)),
  ]
}

function commandText(id: string, { calls, marker, random }: Means): string {
  const chance = random()
  if (chance < 0.3) return `/slow 5\n/length 20`
  if (chance < 0.5) return `What is in this project? (${id})`
  if (chance > 0.85)
    return `/tool bash ${JSON.stringify({ command: `echo ${id} >> ${calls}; sleep ${marker} & ${PRINTING}` })}`
  if (chance < 0.6) {
    const prompt = `/slow 5\n/tool bash ${JSON.stringify({ command: `echo ${id} >> ${calls}; sleep 0.1` })}`
    return taskText(id, prompt)
  }
  // A command that leaves its output to another process takes half a second more.
  const output = chance < 0.68 ? '' : '>/dev/null 2>&1'
  const command = `echo ${id} >> ${calls}; sleep ${marker} ${output} & sleep 0.${Math.floor(chance * 3)}`
  return `/tool bash ${JSON.stringify({ command })}`
}

/** Parallel calls of the plugin and of the server, by the session itself or by one below it. */
function callingText(id: string, chance: number): string {
  const text = `/tool count ${JSON.stringify({ tag: `${id}-plugin` })}\n/tool server_wait ${JSON.stringify({ ms: 60, tag: `${id}-server` })}`
  return chance < 0.7 ? text : taskText(id, text)
}

function taskText(description: string, prompt: string): string {
  return `/tool task ${JSON.stringify({ description, prompt, subagent_type: 'general' })}`
}

/** A file with unique content. */
function fileOf(id: string): { readonly uri: string; readonly name: string } {
  return { uri: `data:text/plain;base64,${Buffer.from(id).toString('base64')}`, name: `${id}.txt` }
}
