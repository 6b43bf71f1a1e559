import { readFileSync } from 'node:fs'

/** The lines of a file that may not exist yet. */
export function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch {
    return []
  }
}
