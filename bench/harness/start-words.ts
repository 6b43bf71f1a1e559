import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What Node is given to start the single process of a tree, as `npm start` of that tree does, also of an older one. */
export function startWords(tree: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(tree, 'package.json'), 'utf8')) as { scripts: { start: string } }
  const words = scripts.start.split(' ')
  const own = words.slice(words.indexOf('node') + 1)
  return own[0] === 'bin/portico.mjs' ? ['--disable-sigusr1', ...own] : own
}

/** The flags of Node among them. */
export function startFlags(tree: string): string[] {
  return startWords(tree).filter((word) => !/^main\.ts$|^bin\/|^serve$/.test(word))
}
