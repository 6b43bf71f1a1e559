import { mkdir } from 'node:fs/promises'
import type { Transform } from 'node:stream'
import pacote, { type Options } from 'pacote'
import { extract, type ReadEntry } from 'tar'
import { PackageError } from '#services/catalog/domain/package-specifier.ts'
import type { PackageLimits } from './limits.ts'

const LEFT_OUT = 'left out'
const FILE_TYPES = /^(Old|Contiguous)?File$|^Directory$/
const ABSOLUTE = /^([/\\]|[a-zA-Z]:)/

/** What is left for all packages of an installation together. */
export interface Budget {
  files: number
  bytes: number
}

interface Tarball {
  /** `name@version`. */
  readonly id: string
  /** Only its path is used, on the registry's own host and protocol. */
  readonly address: string
  /** Where it is unpacked. */
  readonly folder: string
  /** Includes its integrity. */
  readonly options: Options
  /** Packages bundled in its own `node_modules`; everything else there is left out. */
  readonly bundled: readonly string[]
}

/**
 * Fetches a tarball and unpacks it. Throws PackageError if it is larger than allowed, does not match its integrity, or
 * contains anything but files and directories within its own folder. What was unpacked by then remains, and must not be
 * used.
 */
export async function unpack(tarball: Tarball, limits: PackageLimits, budget: Budget): Promise<void> {
  await mkdir(tarball.folder, { recursive: true })
  let tries = 0
  await pacote.tarball.stream(
    tarball.address,
    (stream) => {
      stream.on('error', () => {})
      // npm's library fetches again if the content differs, but a second response would meet what the first left.
      if (tries++ > 0) throw new PackageError(`the tarball of ${tarball.id} does not match its integrity`)
      return write(stream, tarball, limits, budget)
    },
    tarball.options,
  )
}

function write(stream: Transform, tarball: Tarball, limits: PackageLimits, budget: Budget): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = 0
    const refuse = (problem: string): void => reject(new PackageError(`the tarball of ${tarball.id} ${problem}`))
    const extractor = extract({
      cwd: tarball.folder,
      strip: 1,
      maxDepth: limits.depth,
      noChmod: true,
      noMtime: true,
      preserveOwner: false,
      filter: (path, entry) => {
        const file = entry as ReadEntry
        const problem = problemOf(path, file, tarball.bundled, budget)
        if (problem !== undefined && problem !== LEFT_OUT) refuse(problem)
        // Whoever runs it can read it, and no set-user-ID bits are kept.
        file.mode = file.type === 'Directory' ? 0o755 : 0o644
        return problem === undefined
      },
      onwarn: (code, message) => {
        if (code !== 'TAR_ENTRY_INFO') refuse(`cannot be unpacked: ${message} (${code})`)
      },
    })
    extractor.on('error', reject)
    extractor.on('close', resolve)
    stream.on('error', reject)
    stream.on('data', ({ length }: Buffer) => {
      received += length
      if (received > limits.tarballBytes) refuse('is too large')
    })
    stream.pipe(extractor)
  })
}

/** Why an entry is not unpacked; otherwise its needs are taken from the budget. */
function problemOf(path: string, { size, type }: ReadEntry, bundled: readonly string[], budget: Budget) {
  const shown = JSON.stringify(path.slice(0, 200))
  if (!FILE_TYPES.test(type)) return `contains ${shown}, which is not a file (${type})`
  if (ABSOLUTE.test(path) || path.split(/[/\\]/).includes('..')) return `contains ${shown}, which leads out of it`
  if (!isWanted(path, bundled)) return LEFT_OUT
  budget.files--
  budget.bytes -= size
  if (budget.files < 0) return 'is one file too many for all that is installed'
  if (budget.bytes < 0) return 'is too large when it is unpacked'
  return undefined
}

/** In the tarball's own `node_modules`, only declared bundled packages are used: the rest comes from the registry. */
function isWanted(path: string, bundled: readonly string[]): boolean {
  const [, inside] = /^[^/]+\/node_modules\/(.*)$/s.exec(path) ?? []
  return inside === undefined || bundled.some((name) => inside.startsWith(`${name}/`))
}
