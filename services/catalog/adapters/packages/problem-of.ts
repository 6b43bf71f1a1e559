import { PackageError } from '#services/catalog/domain/package-specifier.ts'
import { codeOf } from '../files/paths.ts'

const MOST_CHARACTERS = 500
const UNREACHABLE =
  /^(ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|E?IDLETIMEOUT|FETCH_ERROR)$/
const FORBIDDEN_KIND = /^EALLOW(\w+)$/

/** What went wrong with a package, for people: an error of npm's libraries, of the system, or a PackageError. */
export function problemOf(error: unknown): string {
  return explain(error).slice(0, MOST_CHARACTERS)
}

function explain(error: unknown): string {
  if (error instanceof PackageError) return error.message
  const code = codeOf(error) ?? ''
  const message = error instanceof Error ? error.message : String(error)
  if (UNREACHABLE.test(code)) return `the registry cannot be reached (${code})`
  const kind = FORBIDDEN_KIND.exec(code)?.[1]?.toLowerCase()
  if (kind !== undefined) return `${dependencyOf(error)} is no package of the registry (${kind}), and refused`
  if (code === 'EINTEGRITY') return 'a tarball does not match its integrity'
  if (code === 'E404') return `the registry does not have it: ${message}`
  return code === '' || message.includes(code) ? message : `${message} (${code})`
}

function dependencyOf(error: unknown): string {
  const { package: dependency, requiredBy } = error as { readonly package?: string; readonly requiredBy?: string }
  return `the dependency ${dependency ?? ''} of ${requiredBy?.replace(/^(.*\/)?node_modules\//, '') ?? 'the package'}`
}
