// Reports which files the modules of this thread are loaded from.
import { type Stats, statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { fingerprintOf } from '#services/catalog/adapters/files/find-file.ts'
import { MAX_FILES } from './protocol.ts'

/**
 * Reports each file that is imported from now on, once, as it is before it is read; a missing one has no fingerprint.
 * Files of packages (`node_modules`) are not reported. Returns a function that lists all imported files so far.
 */
export function reportFiles(report: (path: string, fingerprint: string) => void): ReadonlySet<string> {
  const seen = new Set<string>()
  let reported = 0
  const observe = (url: string | undefined): void => {
    if (!url?.startsWith('file:')) return
    const path = fileURLToPath(url)
    if (seen.has(path)) return
    seen.add(path)
    if (url.includes('/node_modules/') || ++reported > MAX_FILES) return
    report(path, fingerprintOf(path, statOf(path)))
  }
  registerHooks({
    resolve(specifier, context, next) {
      try {
        const resolved = next(specifier, context)
        observe(resolved.url)
        return resolved
      } catch (error) {
        observe(URL.parse(specifier, context.parentURL)?.href)
        throw error
      }
    },
  })
  return seen
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}
