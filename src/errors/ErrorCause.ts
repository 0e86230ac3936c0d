/** The options of an error. TypeScript's built-in type requires a newer `lib` than this library does. */
export interface ErrorCause {
  /** The error that caused this one. */
  readonly cause?: unknown;
}
