import type { Plant } from './plant.ts'
import type { Action, ToolKind, Work } from './step.ts'

const prompt = (delivery: 'steer' | 'queue', ...tools: ToolKind[]) =>
  ({ do: 'prompt', work: { kind: 'tools', tools }, delivery, parked: false, minted: false }) as const
const words: Work = { kind: 'words', count: 2, slowMs: 0 }
const hello = { do: 'prompt', work: words, delivery: 'steer', parked: false, minted: false } as const
const long = (count: number, asked: number) =>
  ({ ...hello, work: { kind: 'long', count, asked }, delivery: 'queue' }) as const
const step = { do: 'look', at: 'step' } as const
const wait = { do: 'wait', ms: 20_000 } as const
const interrupt = { do: 'interrupt' } as const
const again = { do: 'repeat', back: 1, other: false, parked: false } as const
const reject = { do: 'reply', answer: 'reject' } as const
const child = (...tools: ToolKind[]) => ({ do: 'child', deep: false, work: { kind: 'tools', tools } }) as const

/** A fault, and how it is found. */
export interface Planted extends Plant {
  readonly title: string
  /** What a client does that finds it. */
  readonly does: readonly (Action & { readonly pause?: number })[]
  readonly problem: RegExp
}

const LOST = /was accepted and does not run, though the session is idle/
const lostWake = {
  file: 'services/session/domain/run.ts',
  from: 'running: false, interruptRequested: false,',
  to: 'running: false, interruptRequested: false, due: revision.state.due && outcome !== Outcome.INTERRUPTED,',
  problem: LOST,
}

/** Faults of runs. */
export const RUN_PLANTS: readonly Planted[] = [
  {
    title: 'the end of an interrupted run forgets who woke the session meanwhile',
    ...lostWake,
    does: [prompt('steer', 'endless'), step, { ...interrupt, pause: 300 }, prompt('steer', 'quick')],
  },
  {
    title: 'so does the end of a run whose call was rejected',
    ...lostWake,
    does: [prompt('steer', 'asking', 'brief'), step, reject, prompt('queue', 'quick')],
  },
  {
    title: 'a repeat of a prompt wakes nobody',
    file: 'services/session/domain/inbox/inputs.ts',
    from: 'if (wakes) wake(revision)\n    return input.item',
    to: 'return input.item',
    does: [prompt('steer', 'endless'), step, prompt('queue', 'quick'), interrupt, again],
    problem: LOST,
  },
  {
    title: 'a queued prompt joins a run that goes on',
    file: 'services/session/domain/inbox/promotion.ts',
    from: "boundary === 'idle' ? candidates.find",
    to: 'true ? candidates.find',
    does: [prompt('steer', 'brief'), step, prompt('queue', 'quick')],
    problem: /\(queue\) joined a run that went on/,
  },
  {
    title: 'a queued prompt enters together with a steer',
    file: 'services/session/domain/inbox/promotion.ts',
    from: 'return steers.length > 0 ? steers : inputs',
    to: 'return inputs',
    does: [{ ...prompt('queue', 'quick'), parked: true }, prompt('steer', 'quick')],
    problem: /\(queue\) entered while/,
  },
]

/** A fault in each other operation. */
export const OPERATION_PLANTS: readonly Planted[] = [
  {
    title: 'remove leaves what is below the session',
    file: 'services/session/adapters/sqlite/removal.ts',
    from: 'const rest = childrenOf(file, workspace, sessionId, 1).length > 0',
    to: 'const rest = false',
    does: [child('endless'), { do: 'remove' }],
    problem: /after its removal: answered 200/,
  },
  {
    title: 'remove leaves the tools running',
    file: 'services/catalog/run/run-call.ts',
    from: 'await prepared.run(signal, progress, identity)',
    to: 'await prepared.run(new AbortController().signal, progress, identity)',
    does: [prompt('steer', 'endless'), step, { do: 'remove', pause: 1_000 }],
    problem: /runs on after its removal/,
  },
  {
    title: 'fork copies a step that is not settled',
    file: 'services/session/domain/lifetime/fork-session.ts',
    from: '.filter(({ message }) => isSettled(message))',
    to: '.filter(({ message }) => isSettled(message) || true)',
    does: [prompt('steer', 'endless'), step, { do: 'fork' }],
    problem: /has what its history has not/,
  },
  {
    title: 'fork before a message has that message',
    file: 'services/session/run/lifetime/fork-session.ts',
    from: 'last: message.seq - 1',
    to: 'last: message.seq',
    does: [hello, wait, { do: 'fork', before: 0 }],
    problem: /has what its history has not/,
  },
  {
    title: 'a move is reported, and not made',
    file: 'services/session/domain/inbox/move-session.ts',
    from: 'revision.set({ directory: location.directory, projectId: location.projectId, subpath: location.subpath })',
    to: '',
    does: [{ do: 'move', to: 'away', delivery: 'steer' }, hello],
    problem: /the session has location/,
  },
  {
    title: 'a move is not made while inputs wait',
    file: 'services/session/domain/inbox/promotion.ts',
    from: 'if (control === 0) return items.slice(0, 1)\n  const inputs = control < 0 ? items : items.slice(0, control)',
    to: 'if (items.every(({ item }) => isControl(item))) return items\n  const inputs = items.filter(({ item }) => !isControl(item))',
    does: [
      prompt('steer', 'brief'),
      step,
      { do: 'move', to: 'away', delivery: 'steer' },
      prompt('steer', 'quick'),
      wait,
    ],
    problem: /ran before/,
  },
  {
    title: 'a synthetic text is not answered',
    file: 'services/session/domain/message.ts',
    from: "return isOf(message, 'user') || isOf(message, 'synthetic')",
    to: "return isOf(message, 'user')",
    does: [hello, wait, { do: 'synthetic', work: words, delivery: 'steer', parked: false }],
    problem: /was not answered|does not run|was answered with|a run/,
  },
  {
    title: 'a resume after a rejection is forgotten',
    file: 'services/session/domain/run.ts',
    from: 'if (outcome !== Outcome.INTERRUPTED && !interruptRequested) endJoined(revision)',
    to: 'endJoined(revision)',
    does: [prompt('steer', 'asking', 'brief'), step, reject, { do: 'resume', ms: 20_000 }],
    problem: /was resumed, and stays interrupted/,
  },
  {
    title: 'an interrupt that resumes parks steers as well',
    file: 'services/session/domain/run.ts',
    from: 'if (waiting !== undefined && mayEnter(waiting, true).length > 0) wakeForSteers(revision)',
    to: '',
    does: [prompt('steer', 'endless'), step, prompt('steer', 'quick'), { do: 'interrupt', resume: true }],
    problem: LOST,
  },
  {
    title: 'the inbox is listed without its first item',
    file: 'services/session/rpc/inbox.ts',
    from: 'let afterSeq = 0',
    to: 'let afterSeq = 3',
    does: [
      { ...hello, parked: true },
      { do: 'look', at: 'inbox', pause: 300 },
      { do: 'join', pause: 300 },
    ],
    problem: /the inbox was said to have/,
  },
  {
    title: 'an item that becomes a steer wakes nobody',
    file: 'services/session/domain/inbox/inbox-changes.ts',
    from: 'if (delivery === Delivery.STEER) wake(revision)',
    to: '',
    does: [
      { ...prompt('queue', 'quick'), parked: true },
      { do: 'redeliver', back: 0, delivery: 'steer' },
    ],
    problem: LOST,
  },
  {
    title: 'a reload leaves what waits for permission',
    file: 'services/session/rpc/permissions.ts',
    from: 'await rejectWaiting(store, call.principal.workspaceId, call.signal)',
    to: '',
    does: [prompt('steer', 'asking'), step, { do: 'reload', pause: 300 }],
    problem: /waited before a reload, and waits still/,
  },
  {
    title: 'a plugin that ends its process takes the others with it',
    file: 'services/catalog/adapters/plugins/location-plugins.ts',
    from: 'if (alone && (signal === null',
    to: 'if (inside.length > 0 && (signal === null',
    does: [prompt('steer', 'exit'), wait, { do: 'look', at: 'extensions' }],
    problem: /what another plugin did/,
  },
  {
    title: 'a summary is written down, and not reported',
    file: 'services/session/domain/compaction/compaction.ts',
    from: "revision.event({ case: 'compactionEnded', value: { messageId, manual, text, recent } })",
    to: 'void [messageId, manual, recent]',
    does: [hello, wait, { do: 'compact' }],
    problem: /is completed, its events say/,
  },
  {
    title: 'a conversation that does not fit into its model ends its run',
    file: 'services/session/domain/next-action.ts',
    from: 'if (hasOverflowed(conversation)) return COMPACT',
    to: "if (hasOverflowed(conversation)) return end('failed', { type: CONTEXT_OVERFLOW, message: '' })",
    does: [{ do: 'model', model: 'echo-small' }, long(500, 0), long(10, 1_500), wait],
    problem: /a run failed without a cause.*context\.overflow/,
  },
  {
    title: 'an item that was cancelled has its turn all the same',
    file: 'services/session/domain/inbox/inbox-changes.ts',
    from: "revision.writes.push({ type: 'cancel', id, timeCancelled: revision.now })",
    to: '',
    does: [{ ...hello, parked: true }, { do: 'cancel', back: 0 }, hello],
    problem: /was cancelled and has run|ran before/,
  },
  {
    title: 'what was cancelled is accepted again',
    file: 'services/session/domain/inbox/inputs.ts',
    from: "if (input.state === 'cancelled') return 'cancelled'",
    to: '',
    does: [
      { ...hello, parked: true },
      { do: 'cancel', back: 0 },
      { ...again, back: 0, pause: 300 },
    ],
    problem: /was cancelled, and accepted/,
  },
  {
    title: 'permissions are reported, and not changed',
    file: 'services/session/domain/description.ts',
    from: "revision.writes.push({ type: 'describe', permissions })",
    to: '',
    does: [{ do: 'update', rules: 'open' }],
    problem: /the session has permissions/,
  },
  {
    title: 'a found title replaces that of a client',
    file: 'services/session/domain/description.ts',
    from: 'revision.set({ titling: undefined })\n    rename',
    to: 'rename',
    does: [{ do: 'update', title: 'own' }, hello, wait],
    problem: /gave way to one that nobody asked for/,
  },
  {
    title: 'an import forgets the metadata',
    file: 'services/session/domain/new-session.ts',
    from: '{ ...imported, directory, projectId, subpath, ...times }',
    to: '{ ...imported, directory, projectId, subpath, ...times, metadata: undefined }',
    does: [{ do: 'update', metadata: true }, { do: 'transfer' }],
    problem: /exported as something else/,
  },
  {
    title: 'what is denied runs',
    file: 'services/session/run/step-permissions.ts',
    from: 'judgement.effect === Effect.DENY)) return DENIED',
    to: 'judgement.effect === Effect.DENY)) return undefined',
    does: [prompt('steer', 'denied')],
    problem: /ran though it is denied/,
  },
  {
    title: 'an approval is not taken back',
    file: 'services/session/rpc/permissions.ts',
    from: 'await store.deleteApproval(workspaceId, approvalId)',
    to: 'void [store, workspaceId, approvalId]',
    does: [prompt('steer', 'always'), { do: 'reply', answer: 'always' }, { do: 'forget' }],
    problem: /is still allowed for good/,
  },
  {
    title: 'a filter by type is ignored',
    file: 'services/session/adapters/sqlite/messages.ts',
    from: 'query.type === undefined ? [] : [query.type]',
    to: '[]',
    does: [hello],
    problem: /are listed as/,
  },
  {
    title: 'a log begins one event too early',
    file: 'services/session/adapters/sqlite/events/event-log.ts',
    from: 'WHERE session = ? AND seq > ?',
    to: 'WHERE session = ? AND seq >= ?',
    does: [hello, wait, { do: 'look', at: 'log' }],
    problem: /the log after/,
  },
  {
    title: 'the stream leaves out an event',
    file: 'services/session/adapters/sqlite/events/event-log.ts',
    from: 'row = record.position\n',
    to: 'row = record.position\n        if (record.seq === 6) continue\n',
    does: [hello, wait],
    problem: /the stream had/,
  },
  {
    title: 'statistics count what children were asked as prompts',
    file: 'services/session/domain/stats/stats.ts',
    from: 'if (isRoot) this.prompts += 1',
    to: 'this.prompts += 1',
    does: [child('quick'), wait],
    problem: /statistics say/,
  },
]
