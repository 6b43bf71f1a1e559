// The messages between the catalog and a host of plugins: a JSON object per line, over the host's channel.

/** The descriptor of the channel in the host. */
export const CHANNEL_FD = 4
/** Maximum number of characters that a plugin may send at once. */
export const MAX_MESSAGE = 2 << 20
/** Maximum number of characters of an error. */
export const MAX_ERROR = 2_000
/** How many files of a plugin are watched. */
export const MAX_FILES = 128

/** What a plugin is called for. */
export type CallName = 'tool' | 'validate' | 'prompt' | 'tool.before' | 'tool.after' | 'instructions'

/** To the host. `run` identifies one start of one plugin: messages of an earlier one are ignored. */
export type ToHost =
  /**
   * The first message: each message from the host must begin with the key and a space, and at most `loads` plugins load
   * at once.
   */
  | { readonly type: 'open'; readonly key: string; readonly loads: number }
  /** Answered with `pong` if this many earlier messages have arrived. */
  | { readonly type: 'ping'; readonly sent: number }
  | ({ readonly run: number } & (
      | { readonly type: 'start'; readonly start: PluginStart }
      | { readonly type: 'end' }
      | { readonly type: 'post'; readonly post: ToPlugin }
    ))

export interface PluginStart {
  /** Absolute path of its module. */
  readonly entry: string
  readonly options: unknown
  readonly directory: string
  /** Maximum memory, within V8's heap and outside of it. */
  readonly memoryBytes: number
  /** How long it may block its thread, once it is loaded, in milliseconds. */
  readonly blockedMs: number
}

/** To the thread of a plugin. */
export type ToPlugin =
  | { readonly type: 'call'; readonly id: number; readonly name: CallName; readonly input: unknown }
  | { readonly type: 'abort'; readonly id: number }
  | { readonly type: 'event'; readonly name: string; readonly event: unknown }

/** From the host. `started`: its thread has begun, and no longer waits for others to load. */
export type FromHost =
  | { readonly type: 'pong' }
  | ({ readonly run: number } & (
      | { readonly type: 'started' }
      /** What the thread sent: a `FromPlugin` as text, if the plugin is honest. */
      | { readonly type: 'message'; readonly text: string }
      /** It was ended for this reason. */
      | { readonly type: 'failed'; readonly error: string }
    ))

/** From the thread of a plugin. */
export type FromPlugin =
  /** A module was loaded from a file. */
  | { readonly type: 'loaded'; readonly path: string; readonly fingerprint: string }
  | { readonly type: 'ready'; readonly registration: unknown }
  | { readonly type: 'progress'; readonly id: number; readonly metadata: unknown }
  | { readonly type: 'result'; readonly id: number; readonly value: unknown }
  | { readonly type: 'error'; readonly id: number; readonly error: string }

/** The response to `ping`, which the host sends to check whether a thread is free. */
export const PONG = 'pong'
