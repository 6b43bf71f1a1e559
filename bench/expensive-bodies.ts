// Bodies that are expensive to read, for `bodies.ts`.
const MEMBERS = 499_000

const rep = (count: number, item: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join()
const ask = (member: string): string => `{"model":"portico/echo","input":"x",${member}}`
const junk = (value: string): string => ask(`"unknown":${value}`)
const few = (value: string): string => junk(`[${rep(10_000, () => '0')},${value}]`)
/** A request whose input is that text. */
export const said = (text: string): string => `{"model":"portico/echo","input":"${text}"}`
const prompt = (text: string): string => `{"text":"x","resume":false,${text}}`
/** Where responses are requested. */
export const answers = '/api/v1/responses'
const prompts = '/api/session/ses_bench/prompt'

/** Name → route and body; `linesFile` is the address of a file of 20 MiB of empty lines. */
export function bodiesFor(linesFile: string): Readonly<Record<string, readonly [path: string, body: () => string]>> {
  const lines = (query: string): string => `{"uri":"${linesFile}${query}"}`
  return {
    'millions of numbers (400)': [answers, () => junk(`[${rep(8e6, () => '0')}]`)],
    'millions of arrays (400)': [answers, () => junk(`[${rep(5e6, () => '[]')}]`)],
    'millions of nested arrays (400)': [answers, () => junk('['.repeat(8e6) + ']'.repeat(8e6))],
    'millions of members (400)': [answers, () => junk(`{${rep(1e6, (i) => `"k${i}":1`)}}`)],
    'a megabyte of members on /api (400)': ['/api/session', () => `{${rep(9e4, (i) => `"k${i}":1`)}}`],
    numbers: [answers, () => junk(`[${rep(MEMBERS, (i) => `${i}`)}]`)],
    'long numbers': [answers, () => junk(`[${rep(MEMBERS, (i) => `1.${'7'.repeat(40)}${i}e-300`)}]`)],
    'arrays in arrays': [answers, () => junk(`[${rep(5_000, () => '['.repeat(90) + ']'.repeat(90))}]`)],
    'objects alike': [answers, () => junk(`[${rep(MEMBERS / 2, () => '{"a":1}')}]`)],
    'objects all different': [answers, () => junk(`[${rep(9_900, (i) => `{${rep(49, (j) => `"k${i}_${j}":1`)}}`)}]`)],
    'wide objects': [answers, () => junk(`[${rep(24, (i) => `{${rep(19_900, (j) => `"k${i}_${j}":1`)}}`)}]`)],
    'small strings': [answers, () => junk(`[${rep(MEMBERS, (i) => `"s${i}"`)}]`)],
    'small escaped strings': [answers, () => junk(`[${rep(MEMBERS, (i) => `"\\u00e4${i}"`)}]`)],
    'strings of 60': [answers, () => junk(`[${rep(MEMBERS, (i) => `"${'y'.repeat(50)}${i}"`)}]`)],
    'one string of 32 MB': [answers, () => junk(`"${'QUJD'.repeat(8.3e6)}"`)],
    'one escaped string of 32 MB': [answers, () => junk(`"${'\\u4e2d'.repeat(5.5e6)}"`)],
    'one string of 32 MB of quotes': [answers, () => junk(`"${'\\"'.repeat(16.6e6)}"`)],
    'one string of 32 MB of emoji': [answers, () => junk(`"${'😀'.repeat(8.3e6)}"`)],
    '10,000 items and digits of 31 MB (400)': [answers, () => few(`${'7'.repeat(31e6)}`)],
    '10,000 items and a word of 31 MB (400)': [answers, () => few(`${'x'.repeat(31e6)}`)],
    '10,000 items and spaces of 31 MB': [answers, () => few(`${' '.repeat(31e6)}0`)],
    '10,000 items and a string of 31 MB': [answers, () => few(`"${'QUJD'.repeat(7.7e6)}"`)],
    '10,000 items and quotes of 31 MB': [answers, () => few(`"${'\\"'.repeat(15.5e6)}"`)],
    'digits of 31 MB (400)': [answers, () => junk('7'.repeat(31e6))],
    'spaces of 31 MB': [answers, () => junk(`${' '.repeat(31e6)}0`)],
    'numbers of 900 digits': [answers, () => junk(`[${rep(33_000, () => '7'.repeat(900))}]`)],
    'a few numbers of 900 digits': [answers, () => junk(`[${rep(9_900, () => '7'.repeat(900))}]`)],
    'a question of 20 MB': [answers, () => said('word '.repeat(4e6))],
    'instructions of 8 MB': [answers, () => ask(`"instructions":"${'word '.repeat(1.6e6)}"`)],
    'instructions of 8 MB, streamed': [answers, () => ask(`"stream":true,"instructions":"${'word '.repeat(1.6e6)}"`)],
    'pictures of 30 MB': [
      answers,
      () => {
        const part = `{"type":"input_image","image_url":"data:image/png;base64,${'QUJD'.repeat(3.8e6)}"}`
        return `{"model":"portico/echo","input":[{"role":"user","content":[${part},${part}]}]}`
      },
    ],
    'a history of 20,000 items': [
      answers,
      () => `{"model":"portico/echo","input":[${rep(20_000, (i) => `{"role":"user","content":"word ${i}"}`)}]}`,
    ],
    'a history of 50,000 parts': [
      answers,
      () => {
        const parts = rep(10, (i) => `{"type":"input_text","text":"word ${i}"}`)
        return `{"model":"portico/echo","input":[${rep(5_000, () => `{"role":"user","content":[${parts}]}`)}]}`
      },
    ],
    'a tool of 49,000 members': [
      answers,
      () => ask(`"tools":[{"type":"function","name":"f","parameters":{"enum":[${rep(49_000, (i) => `"v${i}"`)}]}}]`),
    ],
    'a prompt of 1 MB': [prompts, () => `{"text":"${'word '.repeat(2e5)}","resume":false}`],
    'a prompt with 60 KB of metadata': [prompts, () => prompt(`"metadata":{${rep(4_500, (i) => `"k${i}":1`)}}`)],
    'a prompt with 49,000 members (400)': [
      prompts,
      () => prompt(`"metadata":{"a":[${rep(49_000, (i) => `"v${i}"`)}]}`),
    ],
    'a prompt with 20 MB of files': [
      prompts,
      () => prompt(`"files":[{"uri":"data:application/octet-stream;base64,${'QUJD'.repeat(6.5e6)}"}]`),
    ],
    'a prompt with a file of 9 M escapes': [prompts, () => prompt(`"files":[{"uri":"data:,${'a%41'.repeat(7.5e6)}"}]`)],
    'a prompt with a file of escapes (400)': [
      prompts,
      () => prompt(`"files":[{"uri":"data:,${'%0A'.repeat(10e6)}%"}]`),
    ],
    'a prompt with a line of 20 MiB of lines': [prompts, () => prompt(`"files":[${lines('?start=1&end=2')}]`)],
    'a prompt with one of their last lines': [
      prompts,
      () => prompt(`"files":[${lines('?start=20000000&end=20000001')}]`),
    ],
    'a prompt with 32 of their last lines': [
      prompts,
      () => prompt(`"files":[${rep(32, () => lines('?start=20000000&end=20000001'))}]`),
    ],
    'a prompt with 20 MiB of lines': [prompts, () => prompt(`"files":[${lines('')}]`)],
    'a text of 30 MB of lines': [answers, () => said('\\n'.repeat(15e6))],
    'a text of 2 M directives': [answers, () => said('/reasoning x\\n'.repeat(2e6))],
    'a picture of 24 MB': [
      answers,
      () => {
        const part = `{"type":"input_image","image_url":"data:image/png;base64,${'QUJD'.repeat(6e6)}"}`
        return `{"model":"portico/echo","input":[{"role":"user","content":[${part}]}]}`
      },
    ],
    'a file of 24 MB': [
      answers,
      () => {
        const part = `{"type":"input_file","filename":"a.txt","file_data":"data:text/plain;base64,${'QUJD'.repeat(6e6)}"}`
        return `{"model":"portico/echo","input":[{"role":"user","content":[${part}]}]}`
      },
    ],
    'a text of 7 M emoji': [answers, () => said('😀'.repeat(7e6))],
    'a prompt with a description of 20 MB': [
      prompts,
      () => prompt(`"files":[{"uri":"data:,a","description":"${'word '.repeat(4e6)}"}]`),
    ],
    'a prompt with a path of 10 M escapes': [
      prompts,
      () => prompt(`"files":[{"uri":"file:///${'%41'.repeat(10e6)}"}]`),
    ],
  }
}
