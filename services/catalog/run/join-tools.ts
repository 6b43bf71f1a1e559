import { hash } from 'node:crypto'
import type { Location, Tool as ToolMessage } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { freeName } from '../domain/free-name.ts'
import type { PreparedCall, ToolSource, Tools } from '../ports/tools.ts'

/**
 * Offers the tools of several sources, in this order. Of several tools with the same name, the first source's keeps it,
 * and the others get different ones.
 */
export function joinToolSources(sources: readonly ToolSource[]): ToolSource {
  return {
    open(location, changed) {
      const open = sources.map((source) => source.open(location, changed))
      return {
        async read(start) {
          const offers = await Promise.all(open.map((source) => source.read(start)))
          const digest = hash('sha256', JSON.stringify(offers.map((offer) => offer.digest)), 'hex')
          return { value: joinTools(offers.map((offer) => offer.value)), digest }
        },
        [Symbol.dispose]() {
          for (const source of open) source[Symbol.dispose]()
        },
      }
    },
  }
}

/** The same for tools that are offered already. */
export function joinTools(parts: readonly Tools[]): Tools {
  return new JoinedTools(parts)
}

class JoinedTools implements Tools {
  /** By the names under which they are offered; `name`: the owner's name for the tool. */
  readonly #owners = new Map<string, { readonly tools: Tools; readonly name: string }>()
  readonly #descriptions: ToolMessage[] = []

  constructor(parts: readonly Tools[]) {
    for (const tools of parts) {
      for (const description of tools.list()) {
        const name = freeName(description.name, this.#owners)
        this.#owners.set(name, { tools, name: description.name })
        this.#descriptions.push({ ...description, name })
      }
    }
  }

  list(): readonly ToolMessage[] {
    return this.#descriptions
  }

  prepare(location: Location, name: string, input: JsonObject): Promise<PreparedCall> {
    const owner = this.#owners.get(name)
    if (owner === undefined) return Promise.reject(new Rejection('TOOL_NOT_FOUND', { name: name.slice(0, 100) }))
    return owner.tools.prepare(location, owner.name, input)
  }
}
