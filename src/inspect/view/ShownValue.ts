/** Why something cannot be read: the code and the message of the error. */
export interface Problem {
  readonly code: string;
  readonly message: string;
}

/**
 * A stored value as plain JSON: a date as ISO 8601 text, a big integer as its digits, bytes as `{ $bytes: <length> }`, a map as a
 * list of pairs, a set as a list, `undefined` as null. It comes from a log and is not to be trusted: its text may be anything.
 */
export type ShownValue =
  | {
      readonly value: unknown;
      /** Text, lists and levels over the limits were left out; a text in their place says how much. Absent: it is whole. */
      readonly cut?: true;
    }
  | { readonly unreadable: Problem };
