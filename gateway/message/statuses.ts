import { ShellCommand_Status as ShellStatus } from '#gen/portico/session/v1/message_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'

/** How far a command is. */
export const shellStatuses = enumTable({
  running: ShellStatus.RUNNING,
  exited: ShellStatus.EXITED,
  timeout: ShellStatus.TIMEOUT,
  killed: ShellStatus.KILLED,
})
