import { ConfigError } from '#shared/config/config-error.ts'

/** The address that a server was to listen on, and the settings that it comes from. */
export interface Address {
  readonly host: string
  readonly port: number
  readonly hostSetting: string
  readonly portSetting: string
}

/** Explains why a server cannot listen, with the name of the setting to change. Other errors are returned unchanged. */
export function listenProblem(error: NodeJS.ErrnoException, { host, port, hostSetting, portSetting }: Address): Error {
  const { code = '' } = error
  const problems: Readonly<Record<string, readonly [variable: string, problem: string]>> = {
    EADDRINUSE: [portSetting, `port ${port} on ${host} is in use`],
    EACCES: [portSetting, `this user cannot listen on port ${port} on ${host} (EACCES): use 1024 or above`],
    EADDRNOTAVAIL: [hostSetting, `Portico cannot listen on ${host}: this machine has no such address`],
    ENOTFOUND: [hostSetting, `Portico cannot listen on ${host}: the name cannot be resolved`],
  }
  const [variable, problem] = problems[code] ?? [hostSetting, `Portico cannot listen on ${host} (${code})`]
  return new ConfigError([{ variable, problem }], { cause: error })
}
