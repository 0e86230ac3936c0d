/** Options of an error. Declared here, because TypeScript's own type needs a newer `lib` than this library does. */
export interface ErrorCause {
  /** What led to the error. */
  readonly cause?: unknown;
}
