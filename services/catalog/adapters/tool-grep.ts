import { stat } from 'node:fs/promises'
import { truncateLines } from '../domain/truncate.ts'
import { confine, locate, nameIn, openInside, toToolError } from './confinement.ts'
import { LineSearch } from './line-search.ts'
import { readHandle, UnreadableFileError } from './read-bounded.ts'
import { FILE_TOOL_TIMEOUT_MS, InputError, objectSchema, pathSchema, type Tool, ToolError, textOf } from './tool.ts'
import { compilePattern, globSchema } from './tool-glob.ts'
import { type Found, walk } from './walk.ts'

const MAX_MATCHES = 200
const MAX_FILE_BYTES = 2 << 20
const BATCH_BYTES = 1 << 20
const PROBE_BYTES = 8 << 10

// What may hold secrets is only found by the name of the file: read asks for leave there, grep does not (3.12).
const SECRETS = /(^|\/)[^/]*\.env(\.[^/]*)?$/
const NO_SECRETS = /\.env\.example$/

interface Input {
  readonly pattern: string
  readonly path?: string
  readonly include?: string
  readonly ignore_case?: boolean
}

interface Batch {
  readonly names: string[]
  readonly files: Uint8Array<ArrayBuffer>[]
  bytes: number
}

/** Finds lines by a regular expression. */
export const grepTool: Tool<Input> = {
  name: 'grep',
  description:
    'Finds lines in the text files of the project by a regular expression (JavaScript syntax). Answers "path:line: ' +
    'text", sorted by path, at most 200 lines. Leaves out .git, node_modules, what .gitignore excludes, .env files, ' +
    'and files of more than 2 MiB.',
  inputSchema: objectSchema(
    {
      pattern: { type: 'string', minLength: 1, maxLength: 1000, description: 'The regular expression, for one line.' },
      path: pathSchema('Directory or file to search. Default: the project directory.'),
      include: globSchema('Pattern for paths, relative to path; without "/" it is for file names: "*.ts".'),
      ignore_case: { type: 'boolean', description: 'Letter case does not matter. Default false.' },
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
      // To search one file is to read it.
      accesses: [{ action: 'grep', resources }, ...(one ? [{ action: 'read', resources }] : [])],
      timeoutMs: FILE_TOOL_TIMEOUT_MS,
      run: async ({ signal }) => {
        confine(directory, real)
        const found = one ? [{ real, path: '' }] : wanted(walk(directory, real, signal), included)
        await using search = new LineSearch({ source: pattern, flags, limit: MAX_MATCHES + 1 })
        const lines: string[] = []
        for await (const batch of batches(directory, found)) {
          for (const { file, line, text } of await search.search(batch.files, signal)) {
            lines.push(`${batch.names[file]}:${line}: ${text}`)
          }
          if (lines.length > MAX_MATCHES) break
        }
        const more = lines.length > MAX_MATCHES
        const note = '(more lines match; only the first are shown: use a narrower pattern, path or include)'
        const { text, truncated } = truncateLines(lines.slice(0, MAX_MATCHES), note, more)
        return textOf(text || '(no line matches)', { count: Math.min(lines.length, MAX_MATCHES), truncated })
      },
    }
  },
}

function checkExpression(pattern: string, flags: string): void {
  try {
    new RegExp(pattern, flags)
  } catch (error) {
    throw new InputError(`pattern: ${error instanceof Error ? error.message : 'no regular expression'}`)
  }
}

async function* wanted(found: AsyncIterable<Found>, included: (path: string) => boolean): AsyncGenerator<Found> {
  for await (const file of found) {
    if (included(file.path) && (!SECRETS.test(file.path) || NO_SECRETS.test(file.path))) yield file
  }
}

async function* batches(directory: string, found: AsyncIterable<Found> | Iterable<Found>): AsyncGenerator<Batch> {
  let batch: Batch = { names: [], files: [], bytes: 0 }
  for await (const { real } of found) {
    const data = await readText(directory, real)
    if (data === undefined) continue
    batch.names.push(nameIn(directory, real))
    batch.files.push(data)
    batch.bytes += data.length
    if (batch.bytes < BATCH_BYTES) continue
    yield batch
    batch = { names: [], files: [], bytes: 0 }
  }
  if (batch.files.length > 0) yield batch
}

// A file that is gone, closed to us, too large or no text is passed by.
async function readText(directory: string, real: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    await using file = await openInside(directory, real)
    const data = await readHandle(file, MAX_FILE_BYTES)
    return data.subarray(0, PROBE_BYTES).includes(0) ? undefined : new Uint8Array(data)
  } catch (error) {
    if (error instanceof ToolError || error instanceof UnreadableFileError) return undefined
    throw error
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
