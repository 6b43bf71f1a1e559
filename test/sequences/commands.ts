import type { RuleSet, ToolKind, Work } from './step.ts'

/** Rules of sessions: commands that end in a certain comment need permission, or are denied. */
export const RULES: Readonly<Record<RuleSet, readonly { action: string; resource: string; effect: string }[]>> = {
  strict: [
    { action: '*', resource: '*', effect: 'allow' },
    { action: 'bash', resource: '*# ask-me', effect: 'ask' },
    { action: 'bash', resource: '*# deny-me', effect: 'deny' },
  ],
  open: [{ action: '*', resource: '*', effect: 'allow' }],
  shut: [
    { action: '*', resource: '*', effect: 'allow' },
    { action: 'bash', resource: '*', effect: 'ask' },
    { action: 'bash', resource: '*# deny-me', effect: 'deny' },
  ],
}

/** A prompt to the built-in model. `tag`: unique in the session; `calls`: the file that its tools write to. */
export function textOf(work: Work, tag: string, calls: string): string {
  switch (work.kind) {
    case 'look':
      return `What is in this project? (${tag})`
    case 'words':
      return `/slow ${work.slowMs}\n/length ${work.count}`
    case 'long':
      return [`/length ${work.count}`, `(${tag})`, Array(work.asked).fill('a').join(' ')].join('\n').trimEnd()
    case 'fail':
      return `/fail ${work.status}${work.after === 0 ? '' : ` after ${work.after}`}\n/length 4`
    case 'task': {
      const prompt = `/slow ${work.slowMs}\n/length ${work.count}`
      return `/tool task ${JSON.stringify({ description: tag, prompt, subagent_type: 'general' })}`
    }
    case 'tools':
      return work.tools.map((kind, i) => callOf(kind, `${tag}.${i}`, calls)).join('\n')
  }
}

/** The file that grows while an endless command of the session runs. */
export function pulseOf(calls: string): string {
  return `${calls}.pulse`
}

/** The mark in the input of a call that was made here. */
export function tokenOf({ command, tag }: CallInput): string | undefined {
  return tag ?? /^echo (\S+) \$PWD >>/.exec(command ?? '')?.[1]
}

/** Of a command, or of another tool. */
export interface CallInput {
  readonly command?: string
  readonly tag?: string
}

const OTHER_TOOLS: ReadonlyMap<ToolKind, string> = new Map([
  ['note', 'note'],
  ['server', 'server_wait'],
  ['dying', 'server_die'],
])

function callOf(kind: ToolKind, tag: string, calls: string): string {
  const name = OTHER_TOOLS.get(kind)
  if (name !== undefined) return `/tool ${name} ${JSON.stringify({ tag, calls, ms: 50 })}`
  return `/tool bash ${JSON.stringify({ command: commandOf(kind, tag, calls) })}`
}

function commandOf(kind: ToolKind, token: string, calls: string): string {
  const mark = `echo ${kind === 'always' ? 'always' : token} $PWD >> ${calls}`
  switch (kind) {
    case 'quick':
      return mark
    case 'brief':
      return `${mark}; sleep 0.2`
    case 'failing':
      return `${mark}; exit 3`
    case 'printing':
      return `${mark}; for i in 1 2 3 4 5 6; do yes abcdefgh | head -c 200000; sleep 0.08; done`
    case 'endless':
      // It takes a moment to end, so that what comes between an interrupt and the end of its run is not a matter of
      // luck.
      return `${mark}; trap 'sleep 0.1; exit' TERM; while :; do echo abcdefgh; echo >> ${pulseOf(calls)}; sleep 0.02; done`
    case 'denied':
      return `${mark} # deny-me`
    case 'asking':
    case 'always':
      return `${mark} # ask-me`
    default:
      return `${mark} # ${kind}`
  }
}
