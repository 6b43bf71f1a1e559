import type { Tool } from '#gen/portico/inference/v1/inference_pb.js'

const MAX_NAME = 64

interface ToolPlace {
  readonly name: string
  readonly namespace?: string
}

/**
 * Tools for a provider without namespaces: each gets a unique name, its own unless another tool has the same, and a
 * call by that name is converted back to a call of the tool in its namespace.
 */
export class FlatTools {
  readonly #tools: readonly Tool[]
  readonly #flat = new Map<string, string>()
  readonly #byFlatName = new Map<string, ToolPlace>()
  /** Every piece of a streamed name needs them. */
  #names: ReadonlySet<string> | undefined

  constructor(tools: readonly Tool[]) {
    this.#tools = tools
    if (tools.every(({ namespace }) => namespace === undefined)) return
    const counts = new Map<string, number>()
    for (const { name } of tools) counts.set(name, (counts.get(name) ?? 0) + 1)
    const names = new Names(counts.keys())
    for (const { name, namespace } of tools) {
      if (namespace === undefined || this.#flat.has(keyOf(name, namespace.name))) continue
      const flat = counts.get(name) === 1 ? name : names.add(`${namespace.name}_${name}`)
      this.#flat.set(keyOf(name, namespace.name), flat)
      this.#byFlatName.set(flat, { name, namespace: namespace.name })
    }
  }

  /** The name of a tool at the provider. */
  nameOf(name: string, namespace: string | undefined): string {
    return namespace === undefined ? name : (this.#flat.get(keyOf(name, namespace)) ?? name)
  }

  /** Whether a provider's name is the name of a tool. */
  has(flat: string): boolean {
    return this.#allNames().has(flat)
  }

  /** Whether a provider's name is only the beginning of the name of a tool. */
  mayGoOn(flat: string): boolean {
    for (const name of this.#allNames()) if (name !== flat && name.startsWith(flat)) return true
    return false
  }

  #allNames(): ReadonlySet<string> {
    this.#names ??= new Set(this.#tools.map(({ name, namespace }) => this.nameOf(name, namespace?.name)))
    return this.#names
  }

  /** The tool that a provider's name stands for. */
  toolOf(flat: string): ToolPlace {
    return this.#byFlatName.get(flat) ?? { name: flat }
  }
}

/** Names that differ, none of which is too long. */
class Names {
  readonly #taken: Set<string>
  /** By the beginning of a name: the last number that it got. */
  readonly #numbers = new Map<string, number>()

  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken)
  }

  /** Adds a name that begins like the wanted one, with a number at its end if that is taken. */
  add(base: string): string {
    const first = base.slice(0, MAX_NAME)
    let name = first
    for (let number = this.#numbers.get(first) ?? 2; this.#taken.has(name); number++) {
      const end = `_${number}`
      name = base.slice(0, MAX_NAME - end.length) + end
      this.#numbers.set(first, number)
    }
    this.#taken.add(name)
    return name
  }
}

function keyOf(name: string, namespace: string): string {
  return `${namespace}\n${name}`
}
