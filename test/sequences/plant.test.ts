import { testPlanted } from './find-planted.ts'
import { RUN_PLANTS } from './plants.ts'

for (const planted of RUN_PLANTS) testPlanted(planted)
