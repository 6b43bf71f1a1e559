import { execFile } from 'node:child_process'
import { lstat, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { projectIdOf } from '#services/catalog/domain/location.ts'
import { fingerprintOf } from '../files/find-file.ts'
import { codeOf } from '../files/paths.ts'
import { readBounded } from '../files/read-bounded.ts'

/** A git repository as its files show it, read without running git. */
export interface Repository {
  /** Root of the worktree. */
  readonly worktree: string
  /** The main checkout; the worktree itself if there is none. */
  readonly canonical: string
  /** Directory that contains the worktree's own HEAD. */
  readonly gitDirectory: string
  /** Directory that all worktrees share: objects, hooks, configuration. */
  readonly commonDirectory: string
  /** Changes when another HEAD is checked out. */
  readonly fingerprint: string
}

/** Whoever resolves a location waits for it. */
const GIT_TIMEOUT_MS = 5_000
const MAX_POINTER_BYTES = 8192

/** Finds the repository of a directory (a real path), searching upwards. */
export async function findRepository(directory: string): Promise<Repository | undefined> {
  for (let worktree = directory; ; worktree = dirname(worktree)) {
    const repository = await repositoryAt(worktree)
    if (repository !== undefined || dirname(worktree) === worktree) return repository
  }
}

async function repositoryAt(worktree: string): Promise<Repository | undefined> {
  try {
    const marker = join(worktree, '.git')
    const isDirectory = (await lstat(marker)).isDirectory()
    const gitDirectory = isDirectory ? marker : await followPointer(marker)
    const common = isDirectory ? gitDirectory : await commonDirectoryOf(gitDirectory)
    const head = await stat(join(gitDirectory, 'HEAD'))
    // Git would wait for the writer of a pipe.
    if (!head.isFile()) return undefined
    const canonical = basename(common) === '.git' ? dirname(common) : worktree
    const fingerprint = fingerprintOf(gitDirectory, head)
    return { worktree, canonical, gitDirectory, commonDirectory: common, fingerprint }
  } catch (error) {
    // Anything that is not a readable repository is skipped, as git does.
    if (error instanceof Error) return undefined
    throw error
  }
}

// In a linked worktree and a submodule, `.git` is a file with the path of the directory (gitrepository-layout(5)).
async function followPointer(marker: string): Promise<string> {
  const stats = await stat(marker)
  if (stats.isDirectory()) return realpath(marker)
  const match = /^gitdir: (.+)/.exec((await readBounded(marker, MAX_POINTER_BYTES)).toString())
  if (match?.[1] === undefined) throw new Error('.git does not name a directory')
  return realpath(resolve(dirname(marker), match[1].trim()))
}

async function commonDirectoryOf(gitDirectory: string): Promise<string> {
  try {
    const common = (await readBounded(join(gitDirectory, 'commondir'), MAX_POINTER_BYTES)).toString().trim()
    return await realpath(resolve(gitDirectory, common))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return gitDirectory
    throw error
  }
}

/**
 * Runs git to list the root commits that HEAD descends from, and picks the project id. Undefined: there are no commits,
 * or git cannot read the repository. Nothing that the repository configures is run: hooks, fsmonitor and the transport
 * helpers of partial clones are off, and neither the user's nor the system's configuration is read. Throws if git is
 * missing or takes more than 5 s. `path` is the PATH in which git is found.
 */
export function rootCommit(gitDirectory: string, path: string): Promise<string | undefined> {
  const safe = ['-c', 'core.fsmonitor=', '-c', 'core.hooksPath=/dev/null', '-c', 'protocol.allow=never']
  const args = ['--no-pager', ...safe, `--git-dir=${gitDirectory}`, 'rev-list', '--max-parents=0', 'HEAD', '--']
  const env = {
    PATH: path,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
  }
  const options = { env, timeout: GIT_TIMEOUT_MS, killSignal: 'SIGKILL', maxBuffer: 1 << 20, cwd: '/' } as const
  return new Promise((done, fail) => {
    execFile('git', args, options, (error, stdout) => {
      if (error === null) done(projectIdOf(stdout))
      else if (typeof error.code === 'number') done(undefined)
      else fail(error)
    })
  })
}
