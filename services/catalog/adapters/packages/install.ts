import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Arborist from '@npmcli/arborist'
import type { Options, Packument } from 'pacote'
import { PackageError } from '#services/catalog/domain/package-specifier.ts'
import { isInside } from '../files/paths.ts'
import { ENTRY } from './entry.ts'
import type { PackageLimits } from './limits.ts'
import type { InstallJob, Resolved } from './package-job.ts'
import { registryOptions } from './registry.ts'
import { type Budget, unpack } from './unpack.ts'

/** Responses of the registry are kept here meanwhile: npm's libraries would otherwise use a folder of the user. */
const CACHE = '.cache'

/** How many packages are fetched at the same time. */
const AT_ONCE = 8

interface Placed extends Resolved {
  readonly name: string
  readonly location: string
  readonly resolved: string
  readonly bundled: readonly string[]
}

/**
 * Installs a package and its dependencies. npm's Arborist decides which versions go where. What it could run (scripts,
 * links to programs, an audit) is never requested, since the tarballs are unpacked here.
 */
export async function install(job: InstallJob): Promise<Resolved> {
  const { folder, specifier, limits } = job
  const { name, wanted } = specifier
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: { [name]: wanted } }))
  const placed = await plan(job)
  await rm(join(folder, CACHE), { recursive: true, force: true })
  const root = placed.find(({ location }) => location === `node_modules/${name}`)
  if (root === undefined) throw new PackageError(`${name} is not for this platform`)
  const budget = { files: limits.files, bytes: limits.unpackedBytes }
  // Nested ones come later.
  const byDepth = Map.groupBy(placed, ({ location }) => depthOf(location))
  for (const depth of [...byDepth.keys()].sort((a, b) => a - b)) await unpackAll(byDepth.get(depth) ?? [], job, budget)
  await writeFile(join(folder, ENTRY), `export { default } from ${JSON.stringify(name)}\n`)
  return { version: root.version, integrity: root.integrity }
}

async function plan({ folder, registry, limits }: InstallJob): Promise<Placed[]> {
  const refused = { allowGit: 'none', allowRemote: 'none', allowFile: 'none', allowDirectory: 'none' }
  const options = {
    ...registryOptions(registry, limits.installMs),
    ...refused,
    path: folder,
    cache: join(folder, CACHE),
    ignoreScripts: true,
    binLinks: false,
    packageLock: false,
    packumentCache: new Packuments(limits.packages),
  }
  const tree = await new Arborist(options as Options).buildIdealTree()
  const nodes = [...tree.inventory.values()].filter(
    (node) => !node.isRoot && !node.extraneous && !(node as { readonly inert?: boolean }).inert,
  )
  if (nodes.length > limits.packages) throw tooMany(limits.packages)
  return nodes.map((node) => place(node, folder, limits))
}

function place(node: Arborist.Node, folder: string, limits: PackageLimits): Placed {
  const { name, version, location, resolved, integrity } = node
  const bundled: unknown = node.package.bundleDependencies
  if (!integrity || !/^https?:/.test(resolved ?? '')) {
    throw new PackageError(`the registry has no integrity for ${name}@${version}`)
  }
  if (node.isLink || !isInside(join(folder, 'node_modules'), join(folder, location))) {
    throw new PackageError(`${JSON.stringify(name)} is not a package name`)
  }
  if (depthOf(location) > limits.depth)
    throw new PackageError(`${name} is nested more than ${limits.depth} packages deep`)
  const names = Array.isArray(bundled) ? bundled.map(String) : []
  return { name, version, location, resolved: resolved ?? '', integrity, bundled: names }
}

function depthOf(location: string): number {
  return location.split('node_modules/').length - 1
}

async function unpackAll(placed: readonly Placed[], job: InstallJob, budget: Budget): Promise<void> {
  const waiting = [...placed]
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { name, version, location, resolved, integrity, bundled } = next
      const options = { ...registryOptions(job.registry, job.limits.installMs), integrity }
      const folder = join(job.folder, location)
      const tarball = { id: `${name}@${version}`, address: resolved, folder, options, bundled }
      await unpack(tarball, job.limits, budget)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

function tooMany(most: number): PackageError {
  return new PackageError(`it needs more than ${most} packages`)
}

/**
 * Responses of the registry during one installation. A shrinkwrap within a package is ignored, since it may name any
 * address.
 */
class Packuments extends Map<string, Packument> {
  readonly #most: number

  constructor(most: number) {
    super()
    this.#most = most
  }

  override set(key: string, packument: Packument): this {
    if (this.size >= this.#most) throw tooMany(this.#most)
    for (const manifest of Object.values(packument.versions ?? {})) delete manifest._hasShrinkwrap
    return super.set(key, packument)
  }
}
