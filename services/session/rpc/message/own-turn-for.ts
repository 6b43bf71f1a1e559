import { bytesOf } from '#services/session/domain/message/size.ts'
import { ownTurn } from '#shared/own-turn.ts'

const LARGE = 1_048_576

/** Waits for a turn of the event loop if messages are large, since what follows takes as long as they are large. */
export async function ownTurnFor(messages: unknown): Promise<void> {
  if (bytesOf(messages) > LARGE) await ownTurn()
}
