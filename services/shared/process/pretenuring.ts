import { setFlagsFromString } from 'node:v8'

/**
 * From now on, V8 allocates what literals make among the young objects (ADR 35). V8 accepts compiled code from Node's
 * cache only under the flags with which it was compiled, so what was loaded until now must have been written to it.
 */
export function stopPretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
