import type { Offer } from '../generation/public-field.ts'
import { type ChatSettings, nameOf, wantedBy } from './body.ts'

type Tool = NonNullable<ChatSettings['tools']>[number]
/** A tool of the caller itself. */
export type CallableTool = Extract<Tool, { type: 'function' | 'custom' }>
/** What a body offers. */
export type ChatOffer = Offer<CallableTool, Exclude<Tool, CallableTool>>

/** The tools of a body, as far as its choice allows them. */
export function offerOf({ tools, tool_choice: choice }: ChatSettings): ChatOffer {
  const allowed = typeof choice === 'object' && choice?.type === 'allowed_tools' ? new Set(wantedBy(choice)) : undefined
  const own: ChatOffer['tools'][number][] = []
  const hosted: ChatOffer['hosted'][number][] = []
  for (const [i, tool] of (tools ?? []).entries()) {
    if (allowed?.has(nameOf(tool)) === false) continue
    const path = `tools.${i}`
    if (tool.type === 'function' || tool.type === 'custom') own.push({ tool, path })
    else hosted.push({ tool, path })
  }
  return { tools: own, hosted }
}
