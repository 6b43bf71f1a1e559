// What the operator's commands have in common as command lines.
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { ConnectError } from '@connectrpc/connect'
import { ConfigError } from '#shared/config/config-error.ts'

/** The command line is invalid. */
export class UsageError extends Error {}

/**
 * Runs a command line. An invalid one and a rejection are one line; the former is followed by a pointer to the usage,
 * whose first line names the command.
 */
export async function runCommand(usage: string, run: (words: string[]) => Promise<void>): Promise<void> {
  const words = process.argv.slice(2)
  if (words[0] === undefined || words[0] === 'help' || words.includes('--help') || words.includes('-h')) {
    process.stdout.write(usage)
    return
  }
  try {
    await run(words)
  } catch (error) {
    if (error instanceof UsageError) {
      remark(`${error.message}\nSee ${/npm run \S+/.exec(usage)?.[0]} -- help`)
      process.exitCode = 2
    } else if (error instanceof ConnectError || error instanceof ConfigError) {
      remark(error instanceof ConnectError ? error.rawMessage : error.message)
      process.exitCode = 1
    } else {
      throw error
    }
  }
}

/** Parses the words of a command line. Throws UsageError, in one line: Node adds advice for other cases. */
export function parseWords<C extends ParseArgsConfig>(config: C): ReturnType<typeof parseArgs<C>> {
  try {
    return parseArgs(config)
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    const [, option] = /'(-[^ ']+)/.exec(message) ?? []
    const lacksValue = code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' && option !== undefined
    throw new UsageError(lacksValue ? `${option} requires a value` : message.replace(/\. .*/s, ''))
  }
}

/** Prints a line for people. */
export function remark(text: string): void {
  process.stderr.write(`${text}\n`)
}
