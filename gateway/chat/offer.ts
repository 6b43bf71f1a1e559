import { type ChatSettings, nameOf, wantedBy } from './body.ts'

type Tool = NonNullable<ChatSettings['tools']>[number]
/** A tool of the caller itself. */
export type CallableTool = Extract<Tool, { type: 'function' | 'custom' }>

/** A tool that is offered, and where it stands in the body. */
interface Offered<T extends Tool> {
  readonly tool: T
  readonly path: string
}

/** The tools that the model is shown: the caller's, and those that a provider runs. */
interface Offer {
  readonly callable: readonly Offered<CallableTool>[]
  readonly hosted: readonly Offered<Exclude<Tool, CallableTool>>[]
}

/** The offers of bodies: every name of a tool's field needs them again. */
const known = new WeakMap<ChatSettings, Offer>()

/** The tools of a body, as far as its choice allows them. */
export function offerOf(body: ChatSettings): Offer {
  const offer = known.get(body) ?? toOffer(body)
  known.set(body, offer)
  return offer
}

function toOffer({ tools, tool_choice: choice }: ChatSettings): Offer {
  const narrowed =
    typeof choice === 'object' && choice?.type === 'allowed_tools' ? new Set(wantedBy(choice)) : undefined
  const callable: Offer['callable'][number][] = []
  const hosted: Offer['hosted'][number][] = []
  for (const [i, tool] of (tools ?? []).entries()) {
    if (narrowed?.has(nameOf(tool)) === false) continue
    const path = `tools.${i}`
    if (tool.type === 'function' || tool.type === 'custom') callable.push({ tool, path })
    else hosted.push({ tool, path })
  }
  return { callable, hosted }
}
