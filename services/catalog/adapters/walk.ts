import { join } from 'node:path'
import { type IgnoreFile, isIgnored, readIgnoreFile } from '../domain/ignore.ts'
import { openInside, readDirectoryInside } from './confinement.ts'
import { subpathOf } from './paths.ts'
import { readHandle, UnreadableFileError } from './read-bounded.ts'
import { ToolError } from './tool.ts'

/** A regular file that a walk came upon. */
export interface Found {
  readonly real: string
  /** Path relative to where the walk began, with `/`. */
  readonly path: string
}

const MAX_ENTRIES = 200_000
const MAX_DEPTH = 64
const MAX_IGNORE_BYTES = 64 << 10
const SKIPPED = new Set(['.git', 'node_modules'])

interface State {
  readonly location: string
  readonly start: string
  readonly signal: AbortSignal
  entries: number
}

/**
 * Walks the regular files below a directory of a location, in order of their paths. Follows no links, and passes by
 * `.git`, `node_modules` and what `.gitignore` files from the location down exclude. Visits at most 200,000 entries, 64
 * levels deep; directories that cannot be read are passed by, but for the first.
 */
export async function* walk(location: string, start: string, signal: AbortSignal): AsyncGenerator<Found> {
  const ignores: IgnoreFile[] = []
  const way = subpathOf(location, start).split('/').filter(Boolean)
  for (let depth = 0; depth < way.length; depth++) {
    const base = way.slice(0, depth).join('/')
    ignores.push(...(await ignoreFileIn(location, join(location, base), base)))
  }
  yield* visit({ location, start, signal, entries: 0 }, start, ignores, 0)
}

async function* visit(
  state: State,
  directory: string,
  above: readonly IgnoreFile[],
  depth: number,
): AsyncGenerator<Found> {
  const { location, start } = state
  const base = subpathOf(location, directory)
  const entries = await readable(readDirectoryInside(location, directory), depth === 0)
  const hasIgnoreFile = entries?.some((entry) => entry.name === '.gitignore' && entry.isFile())
  const ignores = hasIgnoreFile ? [...above, ...(await ignoreFileIn(location, directory, base))] : above
  for (const entry of entries ?? []) {
    state.signal.throwIfAborted()
    if (++state.entries > MAX_ENTRIES) return
    const path = base === '' ? entry.name : `${base}/${entry.name}`
    if (SKIPPED.has(entry.name) || isIgnored(ignores, path, entry.isDirectory())) continue
    const real = join(directory, entry.name)
    if (entry.isFile()) yield { real, path: subpathOf(start, real) }
    else if (entry.isDirectory() && depth < MAX_DEPTH) yield* visit(state, real, ignores, depth + 1)
  }
}

async function ignoreFileIn(location: string, directory: string, base: string): Promise<IgnoreFile[]> {
  const read = async (): Promise<Buffer> => {
    await using file = await openInside(location, join(directory, '.gitignore'))
    return await readHandle(file, MAX_IGNORE_BYTES)
  }
  const text = await readable(read(), false)
  return text === undefined ? [] : [readIgnoreFile(text.toString(), base)]
}

async function readable<T>(reading: Promise<T>, must: boolean): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (!must && (error instanceof ToolError || error instanceof UnreadableFileError)) return undefined
    throw error
  }
}
