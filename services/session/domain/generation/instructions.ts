import type { Agent } from '../agent.ts'
import type { SessionLocation } from '../session.ts'

const DEFAULT =
  'You work on a software project together with its developer. Look into the files with your tools before you answer ' +
  'questions about them or change them; do what was asked, no more, and say plainly what you did and what you could not do.'

const LAST_STEP =
  'This is the last step before you have to stop: no tools can be called any more. Say what was done, what is left, and ' +
  'what you would do next.'

/**
 * The instructions of a step: the agent's own or the default ones, where it works, those for every agent there, and
 * whether it has to stop.
 */
export function instructions(agent: Agent, { directory }: SessionLocation, lastStep: boolean): string {
  const parts = [agent.system ?? DEFAULT, `The project directory is ${directory}.`, ...agent.instructions]
  return (lastStep ? [...parts, LAST_STEP] : parts).join('\n\n')
}
