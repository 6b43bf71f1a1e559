import { stat } from 'node:fs/promises'
import { accessTo } from '#services/catalog/domain/access.ts'
import { confine, locate, nameIn, openInside, toToolError } from '../files/confinement.ts'
import { FileTooLargeError, readHandle, UnreadableFileError } from '../files/read-bounded.ts'
import { Walk, type WalkedFile } from '../files/walk.ts'
import { compilePattern, globSchema } from './glob.ts'
import type { TextSpan } from './grep-worker.ts'
import { searchInTime, searchResult } from './search-result.ts'
import type { SearchThreads } from './search-threads.ts'
import { FILE_TOOL_TIMEOUT_MS, InputError, objectSchema, pathSchema, type Tool, ToolError } from './tool.ts'

const MAX_MATCHES = 200
const MAX_FILE_BYTES = 2 << 20
const PROBE_BYTES = 8 << 10

// Files that may contain secrets are found only by their names: `read` requests permission for them, grep does not.
const SECRETS = /(^|\/)[^/]*\.env(\.[^/]*)?$/
const NO_SECRETS = /\.env\.example$/

interface Input {
  readonly pattern: string
  readonly path?: string
  readonly include?: string
  readonly ignore_case?: boolean
}

interface Batch {
  readonly names: readonly string[]
  readonly texts: readonly TextSpan[]
}

/** Finds lines by a regular expression, in one of these threads. */
export const grepTool = (threads: SearchThreads): Tool<Input> => ({
  name: 'grep',
  description:
    'Finds lines in the text files of the project by a regular expression (JavaScript syntax). Returns "path:line: ' +
    'text", sorted by path, at most 200 lines. Leaves out .git, node_modules, what .gitignore excludes, .env files, ' +
    'and files of more than 2 MiB.',
  inputSchema: objectSchema(
    {
      pattern: { type: 'string', minLength: 1, maxLength: 1000, description: 'The regular expression, for one line.' },
      path: pathSchema('Directory or file to search. Default: the project directory.'),
      include: globSchema('Pattern for paths, relative to path; without "/" it is for file names: "*.ts".'),
      ignore_case: { type: 'boolean', description: 'Ignores case. Default false.' },
    },
    ['pattern'],
  ),
  async plan(directory, { pattern, path = '.', include, ignore_case = false }) {
    const flags = ignore_case ? 'i' : ''
    checkExpression(pattern, flags)
    const included =
      include === undefined ? () => true : compilePattern(include.includes('/') ? include : `**/${include}`)
    const { real, resources } = await locate(directory, path)
    const one = await isFile(real)
    return {
      // Searching one file amounts to reading it.
      accesses: [accessTo('grep', resources), ...(one ? [accessTo('read', resources)] : [])],
      timeoutMs: FILE_TOOL_TIMEOUT_MS,
      run: async ({ signal }) => {
        confine(directory, real)
        const walk = new Walk(directory, real, signal)
        const lines: string[] = []
        const files = new FileTexts(directory)
        const late = await searchInTime(signal, async () => {
          await using thread = await threads.take(signal)
          const entries = one ? [{ real, path: '' }] : wanted(walk, included)
          for await (const { names, texts } of files.batches(entries, thread.memory)) {
            const limit = MAX_MATCHES + 1 - lines.length
            await thread.search({ source: pattern, flags, limit, texts }, signal, (matches) => {
              for (const { text, line, content } of matches) lines.push(`${names[text]}:${line}: ${content}`)
            })
            if (lines.length > MAX_MATCHES) break
          }
        })
        const more = '(more lines match; only the first are shown: use a narrower pattern, path or include)'
        const notes = [...late, ...walk.notes, ...files.notes]
        return searchResult({ lines, limit: MAX_MATCHES, more, none: '(no line matches)', notes })
      },
    }
  },
})

function checkExpression(pattern: string, flags: string): void {
  try {
    new RegExp(pattern, flags)
  } catch (error) {
    throw new InputError(`pattern: ${error instanceof Error ? error.message : 'not a regular expression'}`)
  }
}

async function* wanted(
  entries: AsyncIterable<WalkedFile>,
  included: (path: string) => boolean,
): AsyncGenerator<WalkedFile> {
  for await (const file of entries) {
    if (included(file.path) && (!SECRETS.test(file.path) || NO_SECRETS.test(file.path))) yield file
  }
}

/** Reads the files to be searched. */
class FileTexts {
  readonly #directory: string
  #tooLarge = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Notes for the model about what was not searched. */
  get notes(): string[] {
    if (this.#tooLarge === 0) return []
    return [`(not searched: ${this.#tooLarge === 1 ? 'a file' : `${this.#tooLarge} files`} of more than 2 MiB)`]
  }

  /** Reads as many texts into the memory as fit at once; the next batch follows when these are not needed any more. */
  async *batches(entries: AsyncIterable<WalkedFile> | Iterable<WalkedFile>, memory: Buffer): AsyncGenerator<Batch> {
    let names: string[] = []
    let texts: TextSpan[] = []
    let start = 0
    for await (const { real } of entries) {
      const length = await this.#read(real, memory.subarray(start))
      if (length === undefined) continue
      names.push(nameIn(this.#directory, real))
      texts.push({ start, length })
      start += length
      if (start + MAX_FILE_BYTES < memory.length) continue
      yield { names, texts }
      ;[names, texts, start] = [[], [], 0]
    }
    if (texts.length > 0) yield { names, texts }
  }

  // A file that is missing, unreadable, too large or not text is skipped.
  async #read(real: string, into: Buffer): Promise<number | undefined> {
    try {
      await using file = await openInside(this.#directory, real)
      const data = await readHandle(file, MAX_FILE_BYTES, into)
      return data.subarray(0, PROBE_BYTES).includes(0) ? undefined : data.length
    } catch (error) {
      if (error instanceof FileTooLargeError) this.#tooLarge++
      if (error instanceof ToolError || error instanceof UnreadableFileError) return undefined
      throw error
    }
  }
}

async function isFile(real: string): Promise<boolean> {
  try {
    return (await stat(real)).isFile()
  } catch (error) {
    if (toToolError(error, real) instanceof ToolError) return false
    throw error
  }
}
