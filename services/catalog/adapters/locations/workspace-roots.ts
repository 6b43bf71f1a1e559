import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Principal } from '#shared/rpc/call-context.ts'
import { isInside } from '../files/paths.ts'

/**
 * Where principals may have their projects: the local operator anywhere, others below the roots of their workspace, and
 * nowhere if it has none.
 */
export class WorkspaceRoots {
  readonly #roots = new Map<string, readonly string[]>()

  /** `roots`: workspace id → absolute paths. A root is allowed by its name and by its real path. */
  constructor(roots: Readonly<Record<string, readonly string[]>>) {
    for (const [workspaceId, paths] of Object.entries(roots)) {
      this.#roots.set(
        workspaceId,
        paths.flatMap((path) => [resolve(path), realOrSame(resolve(path))]),
      )
    }
  }

  /** Whether there is any directory in which a principal may work. */
  hasAny(principal: Principal): boolean {
    return principal.kind === 'local-operator' || (this.#roots.get(principal.workspaceId) ?? []).length > 0
  }

  /** Whether a principal may work in a directory, given as an absolute path. */
  allow(principal: Principal, directory: string): boolean {
    if (principal.kind === 'local-operator') return true
    return (this.#roots.get(principal.workspaceId) ?? []).some((root) => isInside(root, directory))
  }
}

function realOrSame(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}
