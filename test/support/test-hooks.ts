// Preloaded into the processes of tests: node:test follows each promise, timer and socket to attribute stray errors to
// a test, which costs a process a tenth of its CPU. It only needs to know its own tests and suites; without the rest, a
// stray error fails its file.
import asyncHooks from 'node:async_hooks'

const { createHook } = asyncHooks

Object.assign(asyncHooks, {
  createHook({ init }: asyncHooks.HookCallbacks) {
    return createHook({
      init(asyncId, type, triggerAsyncId, resource) {
        if (type === 'Test') init?.(asyncId, type, triggerAsyncId, resource)
      },
      trackPromises: false,
    })
  },
} satisfies Pick<typeof asyncHooks, 'createHook'>)
