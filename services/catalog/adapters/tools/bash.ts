import { accessTo } from '#services/catalog/domain/access.ts'
import { OutputWindow } from '#services/catalog/domain/truncate.ts'
import type { JsonObject } from '#shared/json.ts'
import { Places } from '#shared/places.ts'
import type { CommandEnd, CommandOptions, StartCommand } from '../commands/command.ts'
import { isTimeout, objectSchema, type Tool, type ToolContext, ToolError, type ToolSuccess, textOf } from './tool.ts'

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 600_000
// On Linux an argument of a process has at most 128 KiB, and a character has at most four bytes.
const MAX_COMMAND_CHARACTERS = 30_000
const GRACE_MS = 500
const PROGRESS_INTERVAL_MS = 250
const PROGRESS_TAIL_BYTES = 4 << 10
/** More than any machine works on at once. */
const MAX_RUNNING = 32

interface Input {
  readonly command: string
  readonly timeout?: number
  readonly description?: string
}

/**
 * Runs a shell command in the project directory. It is NOT confined: a command can read, write and reach whatever the
 * user can that runs Portico, and in a single process it can also inspect Portico itself. Its only guard is the
 * permission action `bash`. `environment` is its whole environment; `shell` is the path of a shell. Of all calls 32 run
 * at once, while the others wait in order; the time limit of each begins when it starts.
 */
export function bashTool(
  environment: Readonly<Record<string, string>>,
  shell: string,
  start: StartCommand,
): Tool<Input> {
  const places = new Places(MAX_RUNNING)
  return {
    name: 'bash',
    description:
      'Runs a shell command in the project directory and returns what it prints (beginning and end when it is more ' +
      'than 50 KiB). Nothing outlives the call: whatever is still running when the command ends is ended too. There is ' +
      'no input to read. Prefer read, list, glob, grep, write and edit for files.',
    inputSchema: objectSchema(
      {
        command: {
          type: 'string',
          minLength: 1,
          maxLength: MAX_COMMAND_CHARACTERS,
          pattern: '^[^\\u0000]*$',
          description: 'The command.',
        },
        timeout: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_TIMEOUT_MS,
          description: 'Time limit in milliseconds. Default 120,000.',
        },
        description: { type: 'string', maxLength: 500, description: 'What it does, in a few words, for people.' },
      },
      ['command'],
    ),
    async plan(directory, { command, timeout = DEFAULT_TIMEOUT_MS }) {
      return {
        accesses: [accessTo('bash', [command])],
        timeoutMs: timeout,
        begin: (signal) => places.take(signal),
        run: (context) => run(start, { shell, command, directory, environment }, timeout, context),
      }
    },
  }
}

async function run(
  start: StartCommand,
  options: CommandOptions,
  timeoutMs: number,
  { signal, progress }: ToolContext,
): Promise<ToolSuccess> {
  const output = new OutputWindow()
  const end = await execute(start, options, output, signal, progress)
  const { text, truncated } = output.text()
  const metadata = { bytes: output.total, truncated }
  if (end === undefined) {
    if (!isTimeout(signal.reason)) throw signal.reason
    const { content } = textOf(text || '(no output)')
    throw new ToolError('timeout', `The command took longer than ${timeoutMs} ms and was ended`, { content, metadata })
  }
  const { code, signal: killedBy } = end
  const note = killedBy !== null ? `(ended by ${killedBy})` : code !== 0 ? `(exit code ${code})` : ''
  const parts = [text.replace(/\n$/, ''), note].filter((part) => part !== '')
  const how: JsonObject = killedBy !== null ? { signal: killedBy } : { exit_code: code }
  return textOf(parts.join('\n') || '(no output)', { ...how, ...metadata })
}

// Undefined: the signal aborted. Either way, everything has ended when it returns.
async function execute(
  start: StartCommand,
  options: CommandOptions,
  output: OutputWindow,
  signal: AbortSignal,
  progress: ToolContext['progress'],
): Promise<CommandEnd | undefined> {
  await using command = await start(options)
  let reported = 0
  const timer = setInterval(() => {
    if (output.total === reported) return
    reported = output.total
    progress({ output: output.tail(PROGRESS_TAIL_BYTES), bytes: reported })
  }, PROGRESS_INTERVAL_MS)
  const aborted = Promise.withResolvers<undefined>()
  const onAbort = (): void => aborted.resolve(undefined)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  command.output.on('data', (chunk: Buffer) => output.push(chunk))
  try {
    const end = await Promise.race([command.ended, aborted.promise])
    if (end === undefined) await command.terminate(GRACE_MS)
    return end
  } finally {
    clearInterval(timer)
    signal.removeEventListener('abort', onAbort)
  }
}
