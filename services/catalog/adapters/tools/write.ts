import { accessTo } from '#services/catalog/domain/access.ts'
import { locate, nameIn } from '../files/confinement.ts'
import { exclusively, replaceFile } from '../files/replace-file.ts'
import { FILE_TOOL_TIMEOUT_MS, objectSchema, pathSchema, type Tool, textOf } from './tool.ts'

const MAX_CONTENT_CHARACTERS = 5_000_000

interface Input {
  readonly path: string
  readonly content: string
}

/** Writes a whole file, replacing an existing one, and creates missing directories. */
export const writeTool: Tool<Input> = {
  name: 'write',
  description:
    'Writes a whole file of the project, replacing its content, and creates missing directories. Use edit to ' +
    'change a part of a file.',
  inputSchema: objectSchema(
    {
      path: pathSchema('Path of the file, relative to the project directory or absolute.'),
      content: { type: 'string', maxLength: MAX_CONTENT_CHARACTERS, description: 'The whole content.' },
    },
    ['path', 'content'],
  ),
  async plan(directory, { path, content }) {
    const { real, resources } = await locate(directory, path)
    return {
      accesses: [accessTo('edit', resources)],
      changes: real,
      timeoutMs: FILE_TOOL_TIMEOUT_MS,
      run: async ({ signal }) => {
        const { created } = await exclusively(real, signal, () => replaceFile(directory, real, content))
        const name = nameIn(directory, real)
        const bytes = Buffer.byteLength(content)
        const size = bytes === 1 ? '1 byte' : `${bytes} bytes`
        return textOf(`${created ? 'Created' : 'Replaced'} ${name} (${size})`, { path: name, created, bytes })
      },
    }
  },
}
