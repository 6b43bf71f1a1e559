/** Environment variables of a process. Only `config.ts` files and entry files read the real ones. */
export type Environment = Readonly<Record<string, string | undefined>>
