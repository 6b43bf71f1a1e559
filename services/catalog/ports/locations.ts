import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Principal } from '#shared/rpc/call-context.ts'

/** Knows which directories exist, and which projects they belong to. */
export interface Locations {
  /**
   * Resolves an absolute path, or the default project directory if there is none. With a base, the directory is
   * trimmed, may be relative to it, and may begin with `~`, the user's home directory. The result is at most one second
   * old. Rejects (metadata `directory`) with LOCATION_INVALID if the path is not absolute or not a directory,
   * LOCATION_NOT_FOUND if it does not exist, and LOCATION_FORBIDDEN if it is unreadable, or outside of the roots of the
   * workspace of a principal other than the local operator; then it does not reveal whether the directory exists, nor,
   * with `problem` instead of `directory`, which one is the default.
   */
  resolve(principal: Principal, directory: string | undefined, base?: string): Promise<Location>

  /**
   * The present state of a directory that was resolved before. Rejects like `resolve`; a directory that leads elsewhere
   * by now, or is a file, does not exist.
   */
  look(directory: string): Promise<Location>

  /** Whether a principal may work in a location, given as a real path. */
  allow(principal: Principal, directory: string): boolean
}
