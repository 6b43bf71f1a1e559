import { cpSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A service of docker-compose.yml, as far as tests check it. */
export interface ComposeService {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly secrets?: readonly string[]
  readonly networks?: readonly string[]
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly stop_grace_period?: string
}

/** docker-compose.yml, its merge keys resolved. */
export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

/** The text of a file of the repository. */
export const fileText = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Reads docker-compose.yml. */
export const readCompose = (): Compose => parse(fileText('docker-compose.yml'), { merge: true }) as Compose

/** The instructions of the last stage of the Dockerfile, in order. */
export function readDockerfile(): readonly { readonly name: string; readonly rest: string }[] {
  const lines = fileText('Dockerfile')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  const all = lines.map((line) => {
    const [, name = '', rest = ''] = /^(\w+) +(.*)$/.exec(line) ?? []
    return { name, rest }
  })
  return all.slice(all.findLastIndex(({ name }) => name === 'FROM'))
}

/** The words of the only instruction of that name that has a list of them; what comes before the list are options. */
export function wordsOf(name: string): readonly string[] {
  const found = readDockerfile().filter((instruction) => instruction.name === name)
  const [list, ...others] = found.flatMap(({ rest }) => /\[.*\]$/.exec(rest) ?? [])
  if (list === undefined || others.length > 0) throw new Error(`No single list at ${name}`)
  return JSON.parse(list) as string[]
}

/**
 * Lays out below `directory` what the image has in its working directory: what is copied, and the packages of the
 * product.
 */
export function layOutImage(directory: string): void {
  for (const { name, rest } of readDockerfile()) {
    if (name !== 'COPY' || rest.startsWith('--from=')) continue
    const words = rest.split(/ +/)
    const target = words.pop() ?? ''
    for (const source of words)
      copy(
        source,
        target.endsWith('/') ? join(directory, target, source.replace(/^.*\//, '')) : join(directory, target),
      )
  }
  const lock = JSON.parse(fileText('package-lock.json')) as { packages: Record<string, Record<string, unknown>> }
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && !entry.dev && !entry.optional && !entry.devOptional) {
      copy(path, join(directory, path))
    }
  }
}

function copy(source: string, target: string): void {
  mkdirSync(join(target, '..'), { recursive: true })
  cpSync(join(ROOT, source), target, { recursive: true, ...(source.startsWith('node_modules/') ? {} : { filter }) })
}

// By .dockerignore, tests are left out.
const filter = (path: string): boolean => !path.endsWith('.test.ts') || !statSync(path).isFile()
