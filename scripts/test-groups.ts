// Which test files share a process: most of what a small one costs is to start a process, and to load and warm up the product in it.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A test file says so in a line of its own, and why. */
const ALONE = /^\/\/ A process of its own: \S/m

/** Their files spend most of their time waiting for processes that they start: side by side they are over sooner. */
const APART = ['test/e2e', 'test/sequences', 'scripts']

/** Most files of a group: it is over long before the run is, and when it does not end there are not too many to look at. */
const MOST = 24

/**
 * What to hand to `node --test` for the test files of the tree: files of groups, written into a folder, that import test
 * files of one part of the product; and test files that have a process of their own.
 */
export function groupTests(tree: string, pattern: string, folder: string): string[] {
  const files = globSync(pattern, { cwd: tree }).map((file) => file.replaceAll(sep, '/'))
  const ofFile = (file: string): string | undefined =>
    ALONE.test(readFileSync(join(tree, file), 'utf8')) ? undefined : partOf(file)
  const parts = Map.groupBy(files.sort(), ofFile)
  const alone = parts.get(undefined) ?? []
  parts.delete(undefined)
  const groups = [...parts].flatMap(([part, members]) => {
    const count = Math.ceil(members.length / MOST)
    return Array.from({ length: count }, (_, i) => {
      const group = join(folder, `${part}-${i + 1}.test.mjs`)
      // Dealt out: neighbours cost much alike.
      const dealt = members.filter((_, n) => n % count === i).map((file) => pathToFileURL(resolve(tree, file)).href)
      writeFileSync(group, dealt.map((url) => `import ${JSON.stringify(url)}\n`).join(''))
      return group
    })
  })
  return spread(groups, alone)
}

/** Groups work, files with a process of their own mostly wait: dealt out evenly, the ones use what the others leave free. */
function spread(groups: readonly string[], alone: readonly string[]): string[] {
  const places = [groups, alone].flatMap((files) => files.map((file, n) => [(n + 0.5) / files.length, file] as const))
  return places.sort(([one], [other]) => one - other).map(([, file]) => file)
}

/** The part of the product that a group is of; undefined: it is of none. */
function partOf(file: string): string | undefined {
  if (APART.some((folder) => file.startsWith(`${folder}/`))) return undefined
  const [first = '', second = ''] = file.split('/')
  return ['services', 'test'].includes(first) ? `${first}-${second}` : 'rest'
}
