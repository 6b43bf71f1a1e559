import { constants as system } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from '#shared/telemetry/logging.ts'
import { type StartCommand, settledWithin } from './command.ts'
import { ReapedCommand, type Supervisor } from './reaped-command.ts'
import { SupervisedCommand } from './supervised-command.ts'

/** prctl(2) by the architecture of the process. */
const PRCTL: Readonly<Record<string, number>> = {
  x64: 157,
  arm64: 167,
  riscv64: 167,
  loong64: 167,
  ia32: 172,
  arm: 172,
  ppc64: 171,
  s390x: 172,
  mips64el: 5153,
}
/** Where a system keeps its own programs; searched before PATH, which may contain a slow wrapper. */
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin']
const PROBE_MS = 5_000
/** The exit code of a probe, which nothing else has by chance. */
const PROBE_CODE = 97

/**
 * How commands are started here; `scratch` is a folder for short-lived files. Where nothing can supervise them, this is
 * logged once.
 */
export async function commandStarter(path: string, scratch: string, logger: Logger): Promise<StartCommand> {
  const supervisor = await findSupervisor(path)
  if (supervisor !== undefined) return (options) => ReapedCommand.start(supervisor, options)
  const why = 'There is no perl that can watch over commands (Linux only)'
  logger.warn(`${why}: a process that leaves its process group and empties its environment outlives a call of bash`)
  return (options) => SupervisedCommand.start(options, scratch)
}

/**
 * Finds a perl that can supervise commands, and tries it. `path` is a PATH. Undefined: there is none, or the system has
 * no subreapers (it is not Linux).
 */
export async function findSupervisor(path: string): Promise<Supervisor | undefined> {
  const prctl = PRCTL[process.arch]
  if (process.platform !== 'linux' || prctl === undefined) return undefined
  const script = fileURLToPath(new URL('supervisor.pl', import.meta.url))
  for (const folder of new Set([...FOLDERS, ...path.split(':').filter(isAbsolute)])) {
    const supervisor = { program: join(folder, 'perl'), words: [script, `${prctl}`, `${system.signals.SIGCONT}`] }
    if (await works(supervisor)) return supervisor
  }
  return undefined
}

async function works(supervisor: Supervisor): Promise<boolean> {
  try {
    const options = { shell: '/bin/sh', command: `exit ${PROBE_CODE}`, directory: '/', environment: { PATH: '' } }
    await using probe = await ReapedCommand.start(supervisor, options)
    probe.output.resume()
    return (await settledWithin(probe.ended, PROBE_MS)) && (await probe.ended).code === PROBE_CODE
  } catch {
    return false
  }
}
