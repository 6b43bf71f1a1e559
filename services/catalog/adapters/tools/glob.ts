import { accessTo } from '#services/catalog/domain/access.ts'
import { compileGlob, GlobError } from '#services/catalog/domain/path-glob.ts'
import { confine, locate, nameIn } from '../files/confinement.ts'
import { Walk } from '../files/walk.ts'
import { searchInTime, searchResult } from './search-result.ts'
import { FILE_TOOL_TIMEOUT_MS, InputError, objectSchema, pathSchema, type Tool } from './tool.ts'

const MAX_FOUND = 500

interface Input {
  readonly pattern: string
  readonly path?: string
}

/** Finds files by a pattern for their paths. */
export const globTool: Tool<Input> = {
  name: 'glob',
  description:
    'Finds files of the project by a pattern for their paths, such as "src/**/*.ts" or "**/*.{json,yaml}". Returns ' +
    'paths, sorted, at most 500. Leaves out .git, node_modules and what .gitignore excludes.',
  inputSchema: objectSchema(
    {
      pattern: globSchema('The pattern, relative to path: * and ? within a name, ** over directories, [a-z], {a,b}.'),
      path: pathSchema('Directory to look in. Default: the project directory.'),
    },
    ['pattern'],
  ),
  async plan(directory, { pattern, path = '.' }) {
    const { real, resources } = await locate(directory, path)
    const matches = compilePattern(pattern)
    return {
      accesses: [accessTo('glob', resources)],
      timeoutMs: FILE_TOOL_TIMEOUT_MS,
      run: async ({ signal }) => {
        confine(directory, real)
        const walk = new Walk(directory, real, signal)
        const lines: string[] = []
        const late = await searchInTime(signal, async () => {
          for await (const file of walk) {
            if (matches(file.path) && lines.push(nameIn(directory, file.real)) > MAX_FOUND) break
          }
        })
        const more = '(more files match; only the first are shown: use a narrower pattern)'
        const notes = [...late, ...walk.notes]
        return searchResult({ lines, limit: MAX_FOUND, more, none: '(no file matches)', notes })
      },
    }
  },
}

/** JSON Schema of a path pattern. */
export function globSchema(description: string) {
  return { type: 'string', minLength: 1, maxLength: 1000, description }
}

/** Compiles a path pattern from the model. Throws InputError. */
export function compilePattern(pattern: string): (path: string) => boolean {
  try {
    return compileGlob(pattern.replace(/^\.\//, ''))
  } catch (error) {
    if (error instanceof GlobError) throw new InputError(`pattern: ${error.message}`)
    throw error
  }
}
