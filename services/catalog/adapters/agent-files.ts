import type { Dirent, Stats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Location } from '../domain/location.ts'
import { isInside } from './paths.ts'

/** A file that defines agents. */
export interface AgentFile {
  readonly path: string
  /** `config`: a JSON document; `agent`, `mode`: a Markdown file, the latter always of a primary agent. */
  readonly kind: 'config' | 'agent' | 'mode'
  /** Id of the agent of a Markdown file. */
  readonly id: string
  readonly size: number
  /** Changes when the file does. */
  readonly fingerprint: string
}

const MAX_FILES = 1000
const MAX_DEPTH = 8

/**
 * The files that define agents for a location, low precedence first: the global configuration directory; the documents
 * of the project, from its root down to the location; the `.opencode` directories, likewise. A link that leads out of
 * the project is not followed. At most 1,000 Markdown files in one directory, at most 8 levels deep.
 */
export async function findAgentFiles(configDirectory: string, location: Location): Promise<AgentFile[]> {
  const project = location.project.directory
  const levels = [location.directory]
  while (levels[0] !== undefined && levels[0] !== project) levels.unshift(dirname(levels[0]))
  const found = [
    await filesOf(configDirectory),
    ...(await Promise.all(levels.map((level) => documentsOf(level, project)))),
    ...(await Promise.all(levels.map((level) => filesOf(join(level, '.opencode'), project)))),
  ]
  return found.flat()
}

async function filesOf(directory: string, within?: string): Promise<AgentFile[]> {
  const markdown = (['agent', 'agents', 'mode', 'modes'] as const).map((name) =>
    markdownOf(join(directory, name), name.startsWith('mode') ? 'mode' : 'agent', within),
  )
  return (await Promise.all([documentsOf(directory, within), ...markdown])).flat()
}

async function documentsOf(directory: string, within?: string): Promise<AgentFile[]> {
  const names = ['opencode.json', 'opencode.jsonc']
  const files = names.map((name) => describe(join(directory, name), 'config', '', within))
  return (await Promise.all(files)).flat()
}

async function markdownOf(directory: string, kind: 'agent' | 'mode', within?: string): Promise<AgentFile[]> {
  const ids: string[] = []
  await collect(directory, '', kind === 'mode' ? 1 : MAX_DEPTH, ids)
  const files = ids.sort().map((id) => describe(join(directory, `${id}.md`), kind, id, within))
  return (await Promise.all(files)).flat()
}

async function collect(directory: string, prefix: string, depth: number, ids: string[]): Promise<void> {
  for (const entry of await entriesOf(directory)) {
    if (ids.length >= MAX_FILES) return
    if (entry.isDirectory() && depth > 1) {
      await collect(join(directory, entry.name), `${prefix}${entry.name}/`, depth - 1, ids)
    } else if (!entry.isDirectory() && entry.name.endsWith('.md')) {
      ids.push(prefix + entry.name.slice(0, -'.md'.length))
    }
  }
}

async function describe(path: string, kind: AgentFile['kind'], id: string, within?: string): Promise<AgentFile[]> {
  const stats = await statOf(path)
  if (!stats?.isFile()) return []
  if (within !== undefined && !isInside(within, await realpath(path))) return []
  const fingerprint = `${path}\0${stats.ino}\0${stats.mtimeMs}\0${stats.size}`
  return [{ path, kind, id, size: stats.size, fingerprint }]
}

// Missing and unreadable are the same here: a directory that cannot be looked into defines nothing.
async function entriesOf(directory: string): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true })
  } catch {
    return []
  }
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch {
    return undefined
  }
}
