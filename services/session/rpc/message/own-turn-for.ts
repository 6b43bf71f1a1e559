import { bytesOf } from '#services/session/domain/message/size.ts'
import { ownTurn } from '#shared/own-turn.ts'

const LARGE = 1_048_576

/** What comes next takes as long as messages are large: where they are, it has a turn of its own. */
export async function ownTurnFor(messages: unknown): Promise<void> {
  if (bytesOf(messages) > LARGE) await ownTurn()
}
