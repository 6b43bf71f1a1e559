import type { Principal } from '#shared/rpc/call-context.ts'
import type { Location } from '../domain/location.ts'

/** Knows which directories there are, and what they belong to. */
export interface Locations {
  /**
   * Resolves an absolute path, or the default project directory when there is none. With a base, the directory is trimmed, may
   * be relative to it, and may begin with `~`, the user's home directory. What it returns was true at most one
   * second ago. Rejects (metadata `directory`) with LOCATION_INVALID when it is not absolute or no directory,
   * LOCATION_NOT_FOUND when it is not there, LOCATION_FORBIDDEN when it is unreadable or when the principal is not the
   * local operator and it lies outside the roots of its workspace; whether something outside exists is not revealed.
   */
  resolve(principal: Principal, directory: string | undefined, base?: string): Promise<Location>

  /** What a directory that was resolved before is at this moment. Rejects as `resolve` does; one that leads elsewhere by now, or is a file, is not there. */
  look(directory: string): Promise<Location>

  /** Whether a principal may work in a location, of which a real path is given. */
  allow(principal: Principal, directory: string): boolean
}
