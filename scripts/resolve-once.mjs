// Imported by compile-cache.mjs. For each import in each module, Node checks the disk anew: whether the file exists,
// whether it is a link, and which package.json determines how it is read. That took a fifth of a start. Files of one
// folder with the same extension have the same result, and a name that is not a path means the same to every module of
// this repository, and to all modules in a package's folder.
import { registerHooks } from 'node:module'

const root = new URL('../', import.meta.url).href
const packages = new URL('node_modules/', root).href
/** Node's results by name and, within a package, by importing folder. */
const named = new Map()
/** Where the files of a folder are and how they are read, by folder and extension. */
const folders = new Map()

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '' } = context
    // CommonJS caches what it requires itself.
    if (!parentURL.startsWith(root) || !context.conditions.includes('import')) return next(specifier, context)
    if (/^\.\.?\//.test(specifier)) return resolvePath(new URL(specifier, parentURL).href, specifier, context, next)
    const inPackage = parentURL.startsWith(packages)
    if (!inPackage && specifier.startsWith('#')) return resolvePath(specifier, specifier, context, next)
    const name = inPackage ? `${folderOf(parentURL)} ${specifier}` : specifier
    const known = named.get(name)
    if (known !== undefined) return known
    const found = next(specifier, context)
    named.set(name, { ...found, shortCircuit: true })
    return found
  },
})

/** `path`: an address, or a name whose first word stands for a folder in package.json. */
function resolvePath(path, specifier, context, next) {
  const ending = /\.[jt]s$/.exec(path)?.[0]
  if (ending === undefined) return next(specifier, context)
  const folder = folderOf(path)
  const file = path.slice(folder.length)
  const known = folders.get(folder + ending)
  if (known !== undefined) return { url: known.url + file, format: known.format, shortCircuit: true }
  const found = next(specifier, context)
  // A link is followed each time.
  if (found.url === path || (path.startsWith('#') && found.url.endsWith(`/${file}`))) {
    folders.set(folder + ending, { url: folderOf(found.url), format: found.format })
  }
  return found
}

function folderOf(path) {
  return path.slice(0, path.lastIndexOf('/') + 1)
}
