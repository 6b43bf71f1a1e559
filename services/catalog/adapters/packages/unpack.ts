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
  /** Of it the registry's own host and protocol are used. */
  readonly address: string
  /** Where it goes. */
  readonly folder: string
  /** With its integrity. */
  readonly options: Options
  /** Packages that it brings along in its own `node_modules`; everything else there is left out. */
  readonly bundled: readonly string[]
}

/**
 * Fetches a tarball and unpacks it. Throws PackageError for one that is larger than allowed, that is not what its integrity says, or that holds
 * anything but files and directories within its own folder. What was unpacked by then stays: nobody may use it.
 */
export async function unpack(tarball: Tarball, limits: PackageLimits, budget: Budget): Promise<void> {
  await mkdir(tarball.folder, { recursive: true })
  let tries = 0
  await pacote.tarball.stream(
    tarball.address,
    (stream) => {
      stream.on('error', () => {})
      // npm's library fetches again when the content differs. A second answer would meet what the first left.
      if (tries++ > 0) throw new PackageError(`the tarball of ${tarball.id} is not what its integrity says`)
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
        // Whoever runs it can read it, and nobody becomes somebody else by it.
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

/** Why an entry is not unpacked; it takes of the budget what it needs. */
function problemOf(path: string, { size, type }: ReadEntry, bundled: readonly string[], budget: Budget) {
  const shown = JSON.stringify(path.slice(0, 200))
  if (!FILE_TYPES.test(type)) return `holds ${shown}, which is no file (${type})`
  if (ABSOLUTE.test(path) || path.split(/[/\\]/).includes('..')) return `holds ${shown}, which leads out of it`
  if (!isWanted(path, bundled)) return LEFT_OUT
  budget.files--
  budget.bytes -= size
  if (budget.files < 0) return 'is one file too many for all that is installed'
  if (budget.bytes < 0) return 'is too large when it is unpacked'
  return undefined
}

/** What lies in the tarball's own `node_modules` counts only where it is said to bring it along: the rest comes from the registry. */
function isWanted(path: string, bundled: readonly string[]): boolean {
  const [, inside] = /^[^/]+\/node_modules\/(.*)$/s.exec(path) ?? []
  return inside === undefined || bundled.some((name) => inside.startsWith(`${name}/`))
}
