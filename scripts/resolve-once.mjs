// Imported by compile-cache.mjs. For each import of each module Node asks the disk anew: is the file there, is it a link, and which
// package.json says how it is read? That was a fifth of what a start took. The files of one folder with one ending have one answer, and
// a name that is no path means the same to every module of this repository.
import { registerHooks } from 'node:module'

const root = new URL('../', import.meta.url).href
const packages = new URL('node_modules/', root).href
/** What Node answered, by name. */
const named = new Map()
/** How files are read, by folder and ending. */
const formats = new Map()

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '' } = context
    // What CommonJS requires it keeps itself.
    if (!parentURL.startsWith(root) || !context.conditions.includes('import')) return next(specifier, context)
    if (/^\.\.?\//.test(specifier)) return resolvePath(specifier, context, next)
    if (parentURL.startsWith(packages)) return next(specifier, context)
    const known = named.get(specifier)
    if (known !== undefined) return known
    const found = next(specifier, context)
    named.set(specifier, { ...found, shortCircuit: true })
    return found
  },
})

function resolvePath(specifier, context, next) {
  const ending = /\.[jt]s$/.exec(specifier)?.[0]
  if (ending === undefined) return next(specifier, context)
  const { href: url } = new URL(specifier, context.parentURL)
  const kind = url.slice(0, url.lastIndexOf('/') + 1) + ending
  const format = formats.get(kind)
  if (format !== undefined) return { url, format, shortCircuit: true }
  const found = next(specifier, context)
  // A link is followed each time.
  if (found.url === url) formats.set(kind, found.format)
  return found
}
