// Which test files share a process, and which begin first: most of the cost of a small one is starting a process, and
// loading and warming up the product in it.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A test file marks itself by such a line, with the reason. */
const ALONE = /^\/\/ A process of its own: \S/m

/** Files here mostly wait for processes that they start: they are finished sooner when they run concurrently. */
const APART = ['test/e2e', 'test/sequences', 'cli', 'dev']

/**
 * Maximum number of files in a group: it ends long before the run does, and if it does not end there are not too many
 * to examine.
 */
const MOST = 24

/**
 * Parts and files that take longest, mostly waiting: they begin first, so that the end of a run waits for none of them.
 */
const LONGEST = [
  'test/e2e/change-kill',
  'test/contract/session-store.mongo',
  'test/contract',
  'test/e2e/store-away.mongo',
  'services/catalog',
  'test/e2e/product',
  'test/e2e/process-guards',
  'test/e2e/mixed',
  'test/e2e/fencing',
  'test/e2e/start-refused',
  'test/sequences/sequences',
  'test/e2e/kill',
]

/** Test files that run in one process, in their order. */
interface Group {
  /** Name of a part, or the path of its only file without the extension. */
  readonly name: string
  readonly files: readonly string[]
}

/**
 * Writes the entries for `node --test` for the test files of a tree to a folder: files that import the test files of
 * one part of the product, or one that has a process of its own. Returns them in the order in which they begin, which
 * is that of their names, since Node sorts them.
 */
export function groupTests(tree: string, pattern: string, folder: string): string[] {
  const all = globSync(pattern, { cwd: tree }).map((file) => file.replaceAll(sep, '/'))
  const isAlone = (file: string): boolean =>
    APART.some((apart) => file.startsWith(`${apart}/`)) || ALONE.test(readFileSync(join(tree, file), 'utf8'))
  const { alone = [], shared = [] } = Object.groupBy(all.sort(), (file) => (isAlone(file) ? 'alone' : 'shared'))
  const groups = [...Map.groupBy(shared, partOf)].flatMap(([part, members]) => {
    const count = Math.ceil(members.length / MOST)
    // Distributed round-robin, since neighbours take about the same time.
    const dealt = Array.from({ length: count }, (_, i) => members.filter((_, n) => n % count === i))
    return dealt.map((files, i) => ({ name: count > 1 ? `${part}-${i + 1}` : part, files }))
  })
  const single = alone.map((file) => ({ name: file.slice(0, -'.test.ts'.length), files: [file] }))
  mkdirSync(folder, { recursive: true })
  return inOrder(groups, single).map(({ name, files }, n) => {
    const path = join(folder, `${String(n + 1).padStart(3, '0')}-${name.replaceAll('/', '-')}.test.mjs`)
    const urls = files.map((file) => pathToFileURL(resolve(tree, file)).href)
    writeFileSync(path, urls.map((url) => `import ${JSON.stringify(url)}\n`).join(''))
    return path
  })
}

/**
 * Those that take longest come first. Of the rest, groups compute and files with a process of their own mostly wait, so
 * they are interleaved evenly.
 */
function inOrder(groups: readonly Group[], alone: readonly Group[]): Group[] {
  const places = [groups, alone].flatMap((all) => all.map((group, n) => ({ group, place: (n + 0.5) / all.length })))
  const rank = ({ name }: Group): number => {
    const place = LONGEST.indexOf(name.replace(/-\d+$/, ''))
    return place < 0 ? LONGEST.length : place
  }
  return places.sort((a, b) => rank(a.group) - rank(b.group) || a.place - b.place).map(({ group }) => group)
}

/** The part of the product that a group belongs to. */
function partOf(file: string): string {
  const [first = '', second = ''] = file.split('/')
  return ['services', 'test'].includes(first) ? `${first}/${second}` : 'rest'
}
