// Preloaded by the commands of package.json and by the image: keeps what Node makes of source files, so that the next start
// is quicker and does without the compiler that strips types, which takes 20 MB. Where nothing can be written it is silent.
import './require-later.mjs'
import './resolve-once.mjs'
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/portico', import.meta.url)))
