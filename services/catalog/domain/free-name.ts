/** Maximum length of a tool name that every provider accepts. */
const LONGEST = 64

/** A name that is not taken: the wanted one if it is short enough and free, else its beginning with a number. */
export function freeName(wanted: string, taken: { has(name: string): boolean }): string {
  let name = wanted
  for (let i = 2; name.length > LONGEST || taken.has(name); i++) {
    const number = `_${i}`
    name = `${wanted.slice(0, LONGEST - number.length)}${number}`
  }
  return name
}
