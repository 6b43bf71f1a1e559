// Preloaded by a server that is to be wrong: PLANT names a source file, a piece of it, and the replacement.
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** A fault: a piece of the file, whose path is from the root, and what replaces it. */
export interface Plant {
  readonly file: string
  readonly from: string
  readonly to: string
}

/** The environment of processes that run with the fault. */
export function planted(plant: Plant): Readonly<Record<string, string>> {
  const before = process.env.NODE_OPTIONS ?? ''
  return { PLANT: JSON.stringify(plant), NODE_OPTIONS: `${before} --import=${import.meta.url}` }
}

if (process.env.PLANT !== undefined) {
  const { file, from, to } = JSON.parse(process.env.PLANT) as Plant
  const target = new URL(`../../${file}`, import.meta.url).href
  if (!existsSync(new URL(target))) throw new Error(`There is no ${file}: plant it elsewhere`)
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (url !== target) return loaded
      const source = String(loaded.source)
      if (source.split(from).length !== 2) throw new Error(`${file} does not have “${from}” once: plant it elsewhere`)
      return { ...loaded, source: source.replace(from, () => to) }
    },
  })
}
