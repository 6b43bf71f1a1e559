import { isProviderData } from './sanitize.ts'

const NAMES: Readonly<Record<string, string>> = {
  text: 'state',
  reasoning: 'state',
  tool: 'providerState',
  assistant: 'providerState',
  compaction: 'providerState',
}

/**
 * Brings an import into the form of its schema: drops members that are null, and renames `native`, which some servers
 * use for `state` and `providerState`. Data of a client, a tool or a provider is left unchanged.
 */
export function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy)
  if (typeof value !== 'object' || value === null) return value
  const holder = value as Readonly<Record<string, unknown>>
  const members = Object.entries(holder).filter(([, member]) => member !== null)
  return Object.fromEntries(
    members.map(([name, member]) => {
      const known = nameOf(name, holder)
      return [known, isProviderData(known, holder) ? member : tidy(member)]
    }),
  )
}

function nameOf(name: string, holder: Readonly<Record<string, unknown>>): string {
  const known = name === 'native' && typeof holder.type === 'string' ? NAMES[holder.type] : undefined
  return known === undefined || Object.hasOwn(holder, known) ? name : known
}
