// `npm run soak:plants`: the long form of plant.test.ts, with a fault in each operation.
import { testPlanted } from './find-planted.ts'
import { OPERATION_PLANTS, RUN_PLANTS } from './plants.ts'

for (const planted of [...RUN_PLANTS, ...OPERATION_PLANTS]) testPlanted(planted)
