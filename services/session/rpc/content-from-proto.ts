import { type AssistantPart, AssistantTool_StateSchema } from '#gen/portico/session/v1/message_pb.js'
import { check, checkEnum, MAX_TIME, parseText } from '#shared/rpc/parse.ts'

const MAX_TOOL_NAME_LENGTH = 256

/** Returns a time. Rejects with REQUEST_INVALID for one that no message can have. */
export function checkedTime<T extends number | undefined>(time: T): T {
  const possible = time === undefined || (Number.isInteger(time) && time >= 0 && time <= MAX_TIME)
  check(possible, 'time', 'must be from 1970 to the end of the year 9999')
  return time
}

/** Rejects with REQUEST_INVALID unless it is a part that a step can have. */
export function checkPart({ part }: AssistantPart): void {
  switch (part.case) {
    case 'reasoning':
      checkedTime(part.value.createTime)
      checkedTime(part.value.completeTime)
      break
    case 'tool': {
      const { name, state, createTime, runTime, completeTime } = part.value
      parseText('parts.name', name, 0, MAX_TOOL_NAME_LENGTH)
      checkEnum(AssistantTool_StateSchema, state, 'state')
      for (const time of [createTime, runTime, completeTime]) checkedTime(time)
      break
    }
    case undefined:
      check(false, 'part', 'is required')
  }
}
