import type { JsonObject } from '#shared/json.ts'

export type PluginOrigin =
  | { readonly type: 'package'; readonly target: string }
  | { readonly type: 'local'; readonly path: string }

/** Ids of the agents and skills that a prompt can name. */
export interface LocationNames {
  readonly agents: ReadonlySet<string>
  readonly skills: ReadonlySet<string>
}

/** A tool call, as hooks see it. */
export interface HookedCall {
  readonly sessionId: string
  readonly tool: string
  readonly input: JsonObject
}

/** A package that plugins of a location come from. */
export interface PackageTarget {
  readonly target: string
  /** Why none of them may run; undefined: some may. */
  readonly problem: string | undefined
}

/** The packages that plugins of a location come from, each once; `problem`: why a plugin must not run. */
export function packageTargets(
  plugins: readonly { readonly origin: PluginOrigin; readonly problem: string | undefined }[],
): PackageTarget[] {
  const targets = new Map<string, string | undefined>()
  for (const { origin, problem } of plugins) {
    if (origin.type !== 'package') continue
    if (!targets.has(origin.target) || problem === undefined) targets.set(origin.target, problem)
  }
  return [...targets].map(([target, problem]) => ({ target, problem }))
}

const MOST_CHARACTERS = 1_000

/** Describes everything that could not be updated, in one text. */
export function joinProblems(problems: readonly PackageTarget[]): string {
  const room = Math.floor(MOST_CHARACTERS / problems.length) - 2
  return problems.map(({ target, problem }) => `${target}: ${problem}`.slice(0, Math.max(room, 40))).join('; ')
}
