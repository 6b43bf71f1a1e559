/** What is found in the bytes of a JSON object, in order. */
export type Found =
  /** Bytes of the value that is read. */
  | { readonly type: 'bytes'; readonly bytes: Buffer }
  /** A piece of a string that is given apart; its quotes are among the bytes. */
  | { readonly type: 'apart'; readonly path: string; readonly bytes: Buffer; readonly last: boolean }
  /** The value is read: a member's, or an item of the list. */
  | { readonly type: 'end'; readonly name: string }
