import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { LRUCache } from 'lru-cache'
import { type Location, LocationSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { GLOBAL_PROJECT } from '#services/catalog/domain/location.ts'
import type { Locations } from '#services/catalog/ports/locations.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Principal } from '#shared/rpc/call-context.ts'
import { codeOf, isOutOfDescriptors, subpathOf } from '../files/paths.ts'
import { findRepository, rootCommit } from './git-repository.ts'
import type { WorkspaceRoots } from './workspace-roots.ts'

const FRESH_MS = 1000
const MAX_PATH_BYTES = 4096
const NO_DEFAULT = { directory: 'The default', problem: 'PORTICO_DIRECTORY is not set where the catalog runs' }
const DEFAULT_OUTSIDE = {
  problem:
    'the default, which is not below a root of the workspace (PORTICO_PROJECT_ROOTS); name a directory that is, ' +
    'with location[directory] or, in a body, location.directory',
}
const NO_ROOTS = { problem: 'the default, like any other: the workspace has no roots (PORTICO_PROJECT_ROOTS)' }

interface Options {
  /** Default project directory, absolute; undefined: there is none. */
  readonly directory: string | undefined
  /** Home directory, for `~`. */
  readonly home: string
  readonly roots: WorkspaceRoots
  /** The PATH in which git is found. */
  readonly path: string
  readonly clock: Clock
}

interface Entry {
  readonly location: Promise<Location>
  readonly checkedAt: number
}

/**
 * Locations on the file system of this machine. A directory is checked at most once a second; git runs only for a
 * repository, or a HEAD of it, that was not seen before. Concurrent calls for one directory share the work.
 */
export class FileLocations implements Locations {
  readonly #options: Options
  readonly #entries = new LRUCache<string, Entry>({ max: 4096 })
  readonly #projectIds = new LRUCache<string, Promise<string | undefined>>({ max: 4096 })

  constructor(options: Options) {
    this.#options = options
  }

  async resolve(principal: Principal, requested: string | undefined, base?: string): Promise<Location> {
    const { roots, clock, home } = this.#options
    const directory = base === undefined ? requested : resolve(base, expandHome((requested ?? '').trim(), home))
    const path = directory ?? this.#options.directory
    if (path === undefined) throw new Rejection('LOCATION_INVALID', NO_DEFAULT)
    // Where the default is, only those may learn who may use it.
    const ofDefault = roots.hasAny(principal) ? DEFAULT_OUTSIDE : NO_ROOTS
    const forbidden = directory === undefined ? ofDefault : { directory }
    if (!roots.allow(principal, parse(path))) throw new Rejection('LOCATION_FORBIDDEN', forbidden)
    const now = clock.monotonic()
    let entry = this.#entries.get(path)
    if (entry === undefined || now - entry.checkedAt >= FRESH_MS) {
      entry = { location: this.#look(path), checkedAt: now }
      this.#entries.set(path, entry)
      this.#forgetOnFailure(path, entry)
    }
    const location = await entry.location
    // A link below a root may lead out of it.
    if (!roots.allow(principal, location.directory)) throw new Rejection('LOCATION_FORBIDDEN', forbidden)
    return location
  }

  async look(directory: string): Promise<Location> {
    const isNone = (error: unknown): undefined => {
      if (error instanceof Rejection && error.reason === 'LOCATION_INVALID') return undefined
      throw error
    }
    if ((await realDirectory(directory).catch(isNone)) === directory) return await this.#look(directory)
    const problem = 'it is not a directory any more, or leads to another one'
    throw new Rejection('LOCATION_NOT_FOUND', { directory, problem })
  }

  allow(principal: Principal, directory: string): boolean {
    return this.#options.roots.allow(principal, directory)
  }

  async #look(path: string): Promise<Location> {
    const directory = await realDirectory(path)
    const repository = await findRepository(directory)
    const id =
      repository && (await this.#projectId(repository.gitDirectory, repository.fingerprint).catch(gitRejection(path)))
    if (repository === undefined || id === undefined) {
      const project = { projectId: GLOBAL_PROJECT, projectDirectory: directory, canonicalDirectory: directory }
      return create(LocationSchema, { directory, ...project })
    }
    const { worktree, canonical } = repository
    const project = { projectId: id, projectDirectory: worktree, canonicalDirectory: canonical }
    return create(LocationSchema, { directory, ...project, subpath: subpathOf(worktree, directory) })
  }

  #projectId(gitDirectory: string, fingerprint: string): Promise<string | undefined> {
    let id = this.#projectIds.get(fingerprint)
    if (id === undefined) {
      id = rootCommit(gitDirectory, this.#options.path)
      this.#projectIds.set(fingerprint, id)
      const forget = (): void => void this.#projectIds.delete(fingerprint)
      // A first commit does not change HEAD, so without commits, git runs again next time.
      id.then((value) => value === undefined && forget(), forget)
    }
    return id
  }

  #forgetOnFailure(path: string, entry: Entry): void {
    entry.location.catch(() => {
      if (this.#entries.peek(path) === entry) this.#entries.delete(path)
    })
  }
}

function expandHome(path: string, home: string): string {
  return path.replace(/^~(?=\/|$)/, () => home)
}

function parse(path: string): string {
  const problem = !isAbsolute(path)
    ? 'it must be an absolute path'
    : path.includes('\0') || Buffer.byteLength(path) > MAX_PATH_BYTES
      ? `it contains a null character or is longer than ${MAX_PATH_BYTES} bytes`
      : undefined
  if (problem !== undefined) {
    throw new Rejection('LOCATION_INVALID', { directory: path.replaceAll('\0', '\uFFFD').slice(0, 200), problem })
  }
  return resolve(path)
}

async function realDirectory(path: string): Promise<string> {
  try {
    const directory = await realpath(resolve(path))
    if (!(await stat(directory)).isDirectory()) {
      throw new Rejection('LOCATION_INVALID', { directory: path, problem: 'it is not a directory' })
    }
    await access(directory, constants.R_OK | constants.X_OK)
    return directory
  } catch (error) {
    throw toRejection(error, path)
  }
}

/** Converts git's failure to read the repository of a directory to a clear error. */
function gitRejection(directory: string): (error: Error) => never {
  return (cause) => {
    if (isOutOfDescriptors(cause)) throw cause
    const slow = 'killed' in cause && cause.killed === true
    const problem = `git cannot read its repository: ${slow ? 'it takes too long' : (codeOf(cause) ?? 'it cannot be run')}`
    throw new Rejection('LOCATION_INVALID', { directory, problem }, { cause })
  }
}

function toRejection(error: unknown, directory: string): unknown {
  switch (codeOf(error)) {
    case 'ENOENT':
      return new Rejection('LOCATION_NOT_FOUND', { directory }, { cause: error })
    case 'EACCES':
    case 'EPERM':
      return new Rejection('LOCATION_FORBIDDEN', { directory }, { cause: error })
    case 'ENOTDIR':
    case 'ELOOP':
    case 'ENAMETOOLONG':
      return new Rejection('LOCATION_INVALID', { directory, problem: 'it is not a directory' }, { cause: error })
    default:
      return error
  }
}
