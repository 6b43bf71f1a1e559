import type { ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import { messageOf } from './message.ts'
import type { Revision } from './revision.ts'

/** Selects another agent. Whether it exists is only checked when it runs. */
export function selectAgent(revision: Revision, agent: string): void {
  const previous = revision.state.agent
  revision.set({ agent })
  revision.insert(messageOf(revision.newMessage(), 'agentSwitched', { agent, previous }))
  revision.event({ case: 'agentSelected', value: { agent, previous } })
  revision.touch()
}

/** Selects another model; the selected one again changes nothing. */
export function selectModel(revision: Revision, model: ModelRef): void {
  const previous = revision.state.model
  if (previous !== undefined && isSameModel(previous, model)) return
  revision.set({ model })
  revision.insert(messageOf(revision.newMessage(), 'modelSwitched', { model, previous }))
  revision.event({ case: 'modelSelected', value: { model, previous } })
  revision.touch()
}

/** A missing variant equals `default`. */
function isSameModel(a: ModelRef, b: ModelRef): boolean {
  return (
    a.providerId === b.providerId && a.modelId === b.modelId && (a.variant || 'default') === (b.variant || 'default')
  )
}
