import { hash } from 'node:crypto'

const MAX_LENGTH = 64
const MAX_SERVER = 20
const MAX_TOOL = 24
const HASH_DIGITS = 16

/**
 * The name under which a tool of a server is offered: one that providers accept (`^[a-zA-Z0-9_-]{1,64}$`), the same in
 * every process, and unique among all servers. If possible it is `server_tool`, where the first underscore ends the
 * server's name. Otherwise there are two underscores, and a hash of both names at the end.
 */
export function offeredName(server: string, tool: string): string {
  const plain = `${server}_${tool}`
  if (plain.length <= MAX_LENGTH && /^[A-Za-z0-9-]+$/.test(server) && /^[A-Za-z0-9-][A-Za-z0-9_-]*$/.test(tool))
    return plain
  const digits = hash('sha256', `${server}\0${tool}`, 'hex').slice(0, HASH_DIGITS)
  const shown = tool.replace(/[^A-Za-z0-9_-]/g, '-').slice(0, MAX_TOOL)
  return `${server.replace(/[^A-Za-z0-9-]/g, '-').slice(0, MAX_SERVER)}__${shown}_${digits}`
}
