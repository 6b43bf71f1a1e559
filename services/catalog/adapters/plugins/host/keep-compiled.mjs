// Preloaded into the process that plugins run in, and into their threads: what Node made of these files at an earlier
// start is used again. Else each thread would load the compiler that strips types. Where nothing can be written it is
// silent.
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

enableCompileCache(fileURLToPath(new URL('../../../../../node_modules/.cache/portico', import.meta.url)))
