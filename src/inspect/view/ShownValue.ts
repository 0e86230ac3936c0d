/** The code and the message of a read error. */
export interface Problem {
  readonly code: string;
  readonly message: string;
}

/**
 * A stored value as plain JSON. Dates become ISO 8601 text, big integers digits, bytes `{ $bytes: <length> }`, maps
 * lists of pairs, sets lists, and `undefined` null. Untrusted, because it comes from a log.
 */
export type ShownValue =
  | {
      readonly value: unknown;
      /**
       * Whether parts over the limits were omitted. A text in their place states how much. Omitted if the value is
       * complete.
       */
      readonly cut?: true;
    }
  | { readonly unreadable: Problem };
