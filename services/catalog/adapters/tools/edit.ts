import { accessTo } from '#services/catalog/domain/access.ts'
import { isText } from '#services/catalog/domain/mime.ts'
import { MAX_REPLACED_LENGTH, replaceText } from '#services/catalog/domain/replace-text.ts'
import { locate, nameIn, openInside, toToolError } from '../files/confinement.ts'
import { readHandle } from '../files/read-bounded.ts'
import { exclusively, replaceFile } from '../files/replace-file.ts'
import {
  FILE_TOOL_TIMEOUT_MS,
  objectSchema,
  pathSchema,
  type Tool,
  ToolError,
  type ToolSuccess,
  textOf,
} from './tool.ts'

const MAX_FILE_BYTES = 5 << 20
const MAX_PASSAGE_CHARACTERS = 1_000_000

interface Input {
  readonly path: string
  readonly old_string: string
  readonly new_string: string
  readonly replace_all?: boolean
}

/** Replaces a passage of a text file. */
export const editTool: Tool<Input> = {
  name: 'edit',
  description:
    'Replaces a passage of a text file of the project. old_string must be in the file exactly as given, without line ' +
    'numbers, and exactly once unless replace_all is true: include lines around it to make it unique.',
  inputSchema: objectSchema(
    {
      path: pathSchema('Path of the file, relative to the project directory or absolute.'),
      old_string: passageSchema(1, 'The passage to replace.'),
      new_string: passageSchema(0, 'The new text.'),
      replace_all: { type: 'boolean', description: 'Replaces every occurrence. Default false.' },
    },
    ['path', 'old_string', 'new_string'],
  ),
  async plan(directory, input) {
    const { real, resources } = await locate(directory, input.path)
    return {
      accesses: [accessTo('edit', resources)],
      changes: real,
      timeoutMs: FILE_TOOL_TIMEOUT_MS,
      run: ({ signal }) => exclusively(real, signal, () => edit(directory, real, input)),
    }
  },
}

async function edit(directory: string, real: string, input: Input): Promise<ToolSuccess> {
  const name = nameIn(directory, real)
  const { text, version } = await readText(directory, real, name)
  const result = replaceText(text, input.old_string, input.new_string, input.replace_all ?? false)
  if (result.type === 'missing') throw new ToolError('no_match', `old_string is not in ${name}`)
  if (result.type === 'ambiguous') {
    const advice = 'make it unique, or set replace_all'
    throw new ToolError('ambiguous_match', `old_string is in ${name} ${result.count} times: ${advice}`)
  }
  if (result.type === 'too-long') {
    throw new ToolError('too_large', `${name} would have more than ${MAX_REPLACED_LENGTH} characters`)
  }
  await replaceFile(directory, real, result.text, version)
  const times = result.count === 1 ? 'once' : `${result.count} times`
  return textOf(`Edited ${name}: replaced ${times}`, { path: name, replacements: result.count })
}

function passageSchema(minLength: number, description: string) {
  return { type: 'string', minLength, maxLength: MAX_PASSAGE_CHARACTERS, description }
}

async function readText(directory: string, real: string, name: string) {
  await using file = await openInside(directory, real)
  try {
    const stats = await file.stat()
    if (stats.isDirectory()) throw new ToolError('is_directory', `${name} is a directory`)
    const data = await readHandle(file, MAX_FILE_BYTES)
    if (!isText(data)) throw new ToolError('binary_file', `${name} is not a text file`)
    return { text: data.toString(), version: { ino: stats.ino, mtimeMs: stats.mtimeMs, size: stats.size } }
  } catch (error) {
    throw toToolError(error, name)
  }
}
