// Prints how large the product is and how it hangs together: lines and files of each room, casts, `any`, folders that
// import each other, and circles of files. Usage: figures.ts [TREE]
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where names of package.json's `imports` lead. */
const ALIASES = { '#shared/': 'services/shared/', '#services/': 'services/', '#gateway/': 'gateway/' }

const tree = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url))
const texts = new Map(
  globSync('{main.ts,{services,gateway,console,cli,dev,scripts,bin}/**/*.{ts,tsx,mjs,pl,py}}', { cwd: tree })
    .filter((path) => !/\.test\.ts$|node_modules/.test(path))
    .sort()
    .map((path) => [path, readFileSync(join(tree, path), 'utf8')]),
)

const rooms = Map.groupBy(texts, ([path]) => /^(?:services\/)?[^/]+/.exec(path)?.[0] ?? path)
for (const [room, files] of rooms) report(room, files)
report('all', [...texts])

const imports = new Map([...texts].map(([path, text]) => [path, importsOf(path, text)]))
const folders = edges([...imports].map(([path, to]) => [dirname(path), to.map(dirname)]))
const code = [...texts.values()].map(codeOf)
print('casts', count(code, /\bas (?!const\b)/g))
print('any', count(code, /(?:[:<|&]|\bas|=>)\s*any\b(?!\s*:)/g))
print('pairs of folders that import each other', pairs(folders).length)
print('files in circles', inCircles(edges(imports)))

function report(room: string, files: readonly (readonly [string, string])[]): void {
  const lines = files.reduce((sum, [, text]) => sum + text.split('\n').length - 1, 0)
  process.stdout.write(
    `${room.padEnd(24)}${String(lines).padStart(8)} lines${String(files.length).padStart(6)} files\n`,
  )
}

function print(what: string, figure: number): void {
  process.stdout.write(`${what}: ${figure}\n`)
}

/** The files of the product that a file imports. */
function importsOf(path: string, text: string): string[] {
  const names = [...text.matchAll(/(?:\bfrom|\bimport\(?) ?'([^']+)'/g)].map(([, name = '']) => name)
  return names.flatMap((name) => {
    const [alias, folder] = Object.entries(ALIASES).find(([each]) => name.startsWith(each)) ?? []
    const file = alias === undefined ? join(dirname(path), name) : name.replace(alias, folder ?? '')
    return texts.has(file) ? [file] : []
  })
}

/** What is code, without comments, texts, and the names of imports. */
function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    .replace(/^(?:import|export)\b[^;=]*? from '.*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'/g, "''")
    .replace(/`(?:[^`\\]|\\.)*`/g, (template) => [...template.matchAll(/\$\{[^}]*\}/g)].join(' '))
}

function count(parts: readonly string[], pattern: RegExp): number {
  return parts.reduce((sum, part) => sum + (part.match(pattern)?.length ?? 0), 0)
}

function edges(from: Iterable<readonly [string, readonly string[]]>): Map<string, Set<string>> {
  const all = new Map<string, Set<string>>()
  for (const [name, to] of from) all.set(name, new Set([...(all.get(name) ?? []), ...to.filter((one) => one !== name)]))
  return all
}

function pairs(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return [...graph].flatMap(([from, to]) =>
    [...to].filter((one) => from < one && graph.get(one)?.has(from)).map((one) => `${from} ${one}`),
  )
}

/** How many files are left once those that import nothing that is left are taken away, again and again. */
function inCircles(graph: Map<string, Set<string>>): number {
  for (let before = -1; before !== graph.size; ) {
    before = graph.size
    for (const [from, to] of graph) if (![...to].some((one) => graph.has(one))) graph.delete(from)
  }
  return graph.size
}
