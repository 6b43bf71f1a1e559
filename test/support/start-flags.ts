import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The flags of Node that `npm start` gives a server, as in the package.json of a tree. */
export function startFlags(tree: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(tree, 'package.json'), 'utf8')) as { scripts: { start: string } }
  const words = scripts.start.split(' ')
  return words.slice(words.indexOf('node') + 1, -1)
}
