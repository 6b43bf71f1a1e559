/**
 * Commands that still print after the request to end, each in another way; every one prints `up` first. They hold on
 * for the whole time that a command has to end by itself, and print during it.
 */
export const PRINTING: Readonly<Record<string, string>> = {
  'line by line': 'echo up; while :; do echo line; sleep 0.01; done',
  'and does not end by itself': "trap '' TERM INT HUP; echo up; while :; do echo line; sleep 0.01; done",
  'to both outputs': "trap '' TERM; echo up; while :; do echo out; echo err >&2; sleep 0.01; done",
  'as fast as it can': "trap '' TERM; echo up; yes",
  'from processes that left its group':
    "trap '' TERM; echo up; setsid sh -c 'while :; do echo line; sleep 0.01; done' & wait",
}
