/** What a timeline does not show, so that a reader knows. */
export interface HiddenValues {
  /** Values that looked like a secret. */
  readonly secrets: number;
  /** Values at a path to redact. */
  readonly redacted: number;
  /** The paths to redact, as they were given. */
  readonly paths: readonly string[];
  /** Those of the paths that led to no value. */
  readonly idle: readonly string[];
  /** Nothing was looked for. */
  readonly off: boolean;
}
