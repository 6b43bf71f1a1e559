import type { Dirent } from 'node:fs'
import { accessTo } from '#services/catalog/domain/access.ts'
import { truncateLines } from '#services/catalog/domain/truncate.ts'
import { locate, nameIn, readDirectoryInside } from '../files/confinement.ts'
import { FILE_TOOL_TIMEOUT_MS, objectSchema, pathSchema, type Tool, textOf } from './tool.ts'

interface Input {
  readonly path?: string
}

/** Lists a directory: one name per line, sorted, with `/` after directories and `@` after links. */
export const listTool: Tool<Input> = {
  name: 'list',
  description:
    'Lists a directory of the project: one name per line, sorted; directories end in "/", symbolic links in "@". At most ' +
    '2,000 names. Use glob to look for files further down.',
  inputSchema: objectSchema(
    {
      path: pathSchema(
        'Path of the directory, relative to the project directory or absolute. Default: the project directory.',
      ),
    },
    [],
  ),
  async plan(directory, { path = '.' }) {
    const { real, resources } = await locate(directory, path)
    return {
      accesses: [accessTo('list', resources)],
      timeoutMs: FILE_TOOL_TIMEOUT_MS,
      run: async () => {
        const names = (await readDirectoryInside(directory, real)).map(nameOf)
        const { text, truncated } = truncateLines(names, `(${names.length} names; only the first are shown)`)
        const metadata = { path: nameIn(directory, real), count: names.length, truncated }
        return textOf(text || '(the directory is empty)', metadata)
      },
    }
  },
}

function nameOf(entry: Dirent): string {
  return entry.name + (entry.isDirectory() ? '/' : entry.isSymbolicLink() ? '@' : '')
}
