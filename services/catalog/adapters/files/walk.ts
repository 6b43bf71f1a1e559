import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { ToolError } from '../tools/tool.ts'
import { openInside, readDirectoryInside } from './confinement.ts'
import { IgnoreRules } from './ignore-rules.ts'
import { subpathOf } from './paths.ts'
import { readHandle, UnreadableFileError } from './read-bounded.ts'

/** A regular file that a walk found. */
export interface WalkedFile {
  readonly real: string
  /** Path relative to the start of the walk, with `/`. */
  readonly path: string
}

export interface WalkLimits {
  /** Files and directories. */
  readonly entries: number
  readonly depth: number
}

const LIMITS: WalkLimits = { entries: 200_000, depth: 64 }
const MAX_IGNORE_BYTES = 64 << 10
const SKIPPED = new Set(['.git', 'node_modules'])
const ENTRIES_AT_ONCE = 500

/**
 * Walks the regular files below a directory of a location, in order of their paths, once. It follows no links, and
 * skips `.git`, `node_modules` and whatever `.gitignore` files from the location down exclude. It visits at most
 * 200,000 entries, 64 levels deep, and then adds a note; unreadable directories are skipped, except the first.
 */
export class Walk implements AsyncIterable<WalkedFile> {
  readonly #location: string
  readonly #start: string
  readonly #signal: AbortSignal
  readonly #limits: WalkLimits
  #entries = 0
  #tooDeep = false

  constructor(location: string, start: string, signal: AbortSignal, limits = LIMITS) {
    this.#location = location
    this.#start = start
    this.#signal = signal
    this.#limits = limits
  }

  /** Notes for the model about what was skipped because of a limit; complete when the walk is over. */
  get notes(): string[] {
    const { entries, depth } = this.#limits
    const number = entries.toLocaleString('en')
    return [
      ...(this.#entries > entries
        ? [`(stopped looking after ${number} files and directories: use a narrower path)`]
        : []),
      ...(this.#tooDeep
        ? [`(directories more than ${depth} levels deep were not looked into: use a deeper path)`]
        : []),
    ]
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WalkedFile> {
    let rules = new IgnoreRules()
    const way = subpathOf(this.#location, this.#start).split('/').filter(Boolean)
    for (let depth = 0; depth < way.length; depth++) {
      const base = way.slice(0, depth).join('/')
      rules = await this.#withIgnoreFile(rules, join(this.#location, base), base)
    }
    yield* this.#visit(this.#start, rules, 0)
  }

  async *#visit(directory: string, above: IgnoreRules, depth: number): AsyncGenerator<WalkedFile> {
    const base = subpathOf(this.#location, directory)
    const entries = await readable(readDirectoryInside(this.#location, directory), depth === 0)
    const hasIgnoreFile = entries?.some((entry) => entry.name === '.gitignore' && entry.isFile())
    const rules = hasIgnoreFile ? await this.#withIgnoreFile(above, directory, base) : above
    for (const entry of entries ?? []) {
      // A large directory is read at once, and nothing in here waits for I/O.
      if (++this.#entries % ENTRIES_AT_ONCE === 0) await setImmediate()
      this.#signal.throwIfAborted()
      if (this.#entries > this.#limits.entries) return
      const path = base === '' ? entry.name : `${base}/${entry.name}`
      if (SKIPPED.has(entry.name) || rules.exclude(path, entry.isDirectory())) continue
      const real = join(directory, entry.name)
      if (entry.isFile()) yield { real, path: subpathOf(this.#start, real) }
      else if (!entry.isDirectory()) continue
      else if (depth < this.#limits.depth) yield* this.#visit(real, rules, depth + 1)
      else this.#tooDeep = true
    }
  }

  async #withIgnoreFile(rules: IgnoreRules, directory: string, base: string): Promise<IgnoreRules> {
    const read = async (): Promise<Buffer> => {
      await using file = await openInside(this.#location, join(directory, '.gitignore'))
      return await readHandle(file, MAX_IGNORE_BYTES)
    }
    const text = await readable(read(), false)
    return text === undefined ? rules : rules.with(text.toString(), base)
  }
}

async function readable<T>(reading: Promise<T>, must: boolean): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (!must && (error instanceof ToolError || error instanceof UnreadableFileError)) return undefined
    throw error
  }
}
