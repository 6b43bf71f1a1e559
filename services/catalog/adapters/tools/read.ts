import type { FileHandle } from 'node:fs/promises'
import { basename } from 'node:path'
import { accessTo } from '#services/catalog/domain/access.ts'
import { detectMime, isText } from '#services/catalog/domain/mime.ts'
import { fileContent } from '#services/catalog/domain/tool-outcome.ts'
import { MAX_BYTES, MAX_LINES } from '#services/catalog/domain/truncate.ts'
import { locate, nameIn, openInside, toToolError } from '../files/confinement.ts'
import { readHandle } from '../files/read-bounded.ts'
import { readLines } from '../files/read-lines.ts'
import {
  FILE_TOOL_TIMEOUT_MS,
  objectSchema,
  pathSchema,
  type Tool,
  ToolError,
  type ToolSuccess,
  textOf,
} from './tool.ts'

const MAX_IMAGE_BYTES = 20 << 20
const PROBE_BYTES = 8 << 10

interface Input {
  readonly path: string
  readonly offset?: number
  readonly limit?: number
}

/**
 * Reads a text file in parts, each line with its number; an image is returned as a file, and anything else is refused.
 */
export const readTool: Tool<Input> = {
  name: 'read',
  description:
    'Reads a file of the project. Text comes with line numbers ("12: text"), at most 2,000 lines and 50 KiB at once; use ' +
    'offset and limit for the rest of a longer file. Images are shown. Use list for directories.',
  inputSchema: objectSchema(
    {
      path: pathSchema('Path of the file, relative to the project directory or absolute.'),
      offset: { type: 'integer', minimum: 1, description: 'First line to read, from 1 on. Default 1.' },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: MAX_LINES,
        description: 'Maximum number of lines to read. Default 2,000.',
      },
    },
    ['path'],
  ),
  async plan(directory, { path, offset = 1, limit = MAX_LINES }) {
    const { real, resources } = await locate(directory, path)
    return {
      accesses: [accessTo('read', resources)],
      timeoutMs: FILE_TOOL_TIMEOUT_MS,
      run: async ({ signal }) => {
        await using file = await openInside(directory, real)
        const name = nameIn(directory, real)
        try {
          return await readFile(file, name, { offset, limit }, signal)
        } catch (error) {
          throw toToolError(error, name)
        }
      },
    }
  },
}

async function readFile(
  file: FileHandle,
  name: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  signal: AbortSignal,
): Promise<ToolSuccess> {
  const stats = await file.stat()
  if (stats.isDirectory()) throw new ToolError('is_directory', `${name} is a directory; use list`)
  if (!stats.isFile()) throw new ToolError('not_a_file', `${name} is not a regular file`)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(PROBE_BYTES), 0, PROBE_BYTES, 0)
  const probe = buffer.subarray(0, bytesRead)
  const mime = detectMime(probe)
  if (mime.startsWith('image/')) return image(await readHandle(file, MAX_IMAGE_BYTES), mime, basename(name))
  if (!isText(probe, true)) throw new ToolError('binary_file', `${name} is a binary file (${mime})`)
  const { lines, more } = await readLines(file, { offset, limit, maxBytes: MAX_BYTES }, signal)
  if (lines.length === 0 && offset > 1) throw new ToolError('out_of_range', `${name} has fewer than ${offset} lines`)
  const numbered = lines.map((line, index) => `${offset + index}: ${line}`)
  const note = `(more lines follow; read on with offset ${offset + lines.length})`
  const text = [...numbered, ...(more ? ['', note] : [])].join('\n') || '(the file is empty)'
  return textOf(text, { path: name, lines: lines.length, truncated: more })
}

function image(data: Uint8Array, mime: string, name: string): ToolSuccess {
  return { content: [fileContent(data, mime, name)], metadata: { mime, bytes: data.length } }
}
