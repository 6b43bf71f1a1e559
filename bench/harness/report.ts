import { loadavg } from 'node:os'
import { median } from './load.ts'

/** The median of rounds, and their range. */
export function spread(values: readonly number[]): string {
  return `${digits(median(values))} (${digits(Math.min(...values))} to ${digits(Math.max(...values))})`
}

/** Whether a goal was met, in words that follow a figure. */
export function goalOf(met: boolean, goal: string): string {
  return `   goal: ${goal}: ${met ? 'met' : 'MISSED'}`
}

/** Load average of the last minute, which figures must be read with. */
export function load(): string {
  return (loadavg()[0] ?? 0).toFixed(0)
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function digits(value: number): string {
  return value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0)
}
