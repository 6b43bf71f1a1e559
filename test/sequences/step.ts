/**
 * What a tool call of an input does; each leaves one line in the file of its session, if it runs. A plugin throws,
 * loops or ends its process because of the command; `note` is the tool of another plugin, `server` one of an MCP
 * server, `dying` another one, which ends the server.
 */
export type ToolKind =
  | ('quick' | 'brief' | 'failing' | 'printing' | 'endless' | 'asking' | 'always' | 'denied')
  | ('throw' | 'loop' | 'exit' | 'note' | 'server' | 'dying')

/** What an input makes the built-in model do. */
export type Work =
  | { readonly kind: 'look' }
  | { readonly kind: 'words'; readonly count: number; readonly slowMs: number }
  /** The number of words of an answer, and of its prompt: more than a small context has room for. */
  | { readonly kind: 'long'; readonly count: number; readonly asked: number }
  | { readonly kind: 'fail'; readonly status: number; readonly after: number }
  /** An agent makes another one say that many words. */
  | { readonly kind: 'task'; readonly count: number; readonly slowMs: number }
  | { readonly kind: 'tools'; readonly tools: readonly ToolKind[] }

export type Delivery = 'steer' | 'queue'
export type Answer = 'once' | 'always' | 'reject' | 'correct'
/** `step`: until one has begun. */
export type Look =
  | ('session' | 'sessions' | 'messages' | 'active' | 'permissions' | 'create' | 'inbox' | 'step')
  | ('typed' | 'log' | 'extensions')
/** Directories of the world; `missing` does not exist. */
export type Place = 'home' | 'deep' | 'away' | 'missing'
/** `strict` is what sessions begin with; `open` allows everything; with `shut`, everything needs permission. */
export type RuleSet = 'strict' | 'open' | 'shut'

export type Action =
  | {
      readonly do: 'prompt'
      readonly work: Work
      readonly delivery: Delivery
      readonly parked: boolean
      /** The server generates the id. */
      readonly minted: boolean
    }
  | { readonly do: 'synthetic'; readonly work: Work; readonly delivery: Delivery; readonly parked: boolean }
  /** Sends a former input's id again: with the same content, or another. */
  | { readonly do: 'repeat'; readonly back: number; readonly other: boolean; readonly parked: boolean }
  /** Takes a former input out of the inbox, if it waits; or changes its delivery. */
  | { readonly do: 'cancel'; readonly back: number }
  | { readonly do: 'redeliver'; readonly back: number; readonly delivery: Delivery }
  | { readonly do: 'move'; readonly to: Place; readonly delivery: Delivery }
  | { readonly do: 'interrupt'; readonly resume?: boolean }
  | { readonly do: 'resume'; readonly ms: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'reply'; readonly answer: Answer }
  /** Withdraws what the session's `always` answers allowed. */
  | { readonly do: 'forget' }
  | { readonly do: 'agent'; readonly agent: string }
  | { readonly do: 'model'; readonly model: string }
  /** `found`: the server is to generate a title. */
  | {
      readonly do: 'update'
      readonly title?: 'own' | 'found'
      readonly metadata?: boolean
      readonly rules?: RuleSet
    }
  | { readonly do: 'view' }
  /** `before`: a message that far from the first; none: all of it; `unknown`: one that does not exist. */
  | { readonly do: 'fork'; readonly before?: number | 'unknown' }
  /** Exports the session, and imports that unchanged, and as another session. */
  | { readonly do: 'transfer' }
  /** Creates a session below this one, or below the last one created so, and gives it work. */
  | { readonly do: 'child'; readonly deep: boolean; readonly work: Work }
  | { readonly do: 'remove' }
  /** Has the conversation summarized, once the session is idle. */
  | { readonly do: 'compact' }
  /** Has all locations rebuilt. */
  | { readonly do: 'reload' }
  | { readonly do: 'look'; readonly at: Look }
  /** Waits for every outstanding answer. */
  | { readonly do: 'join' }

/**
 * One thing that a client does. `pause`: milliseconds before it; `ahead`: the next step does not wait for its answer.
 */
export type Step = Action & { readonly pause: number; readonly ahead: boolean }

/** What one client does in one session. */
export type Sequence = readonly Step[]

/** Ends the server in the middle and starts it again. */
export interface Restart {
  /** Milliseconds after the start. */
  readonly at: number
  readonly how: 'kill' | 'stop'
}

/** A sequence, or several at once, and what happens to the server meanwhile. */
export interface Scenario {
  readonly restarts: readonly Restart[]
  readonly sequences: readonly Sequence[]
}

/** Whether the request is too large for a small context, whatever is summarized. */
export function isTooLong(work: Work | undefined): boolean {
  return work?.kind === 'long' && work.asked > 2_000
}

/** Work that ends only when it is interrupted, or after a time that no test should wait for. */
export function isLong(work: Work): boolean {
  if (work.kind === 'words') return work.count * work.slowMs > 5_000
  if (work.kind === 'fail') return work.status !== 400
  return work.kind === 'tools' && work.tools.includes('endless')
}
