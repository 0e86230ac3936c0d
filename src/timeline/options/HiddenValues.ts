/** The values that a timeline hides, for the information of its reader. */
export interface HiddenValues {
  /** The number of values that looked like secrets. */
  readonly secrets: number;
  /** The number of values at redacted paths. */
  readonly redacted: number;
  /** The redacted paths from the options. */
  readonly paths: readonly string[];
  /** The redacted paths that matched no value. */
  readonly idle: readonly string[];
  /** Whether the search for secrets was disabled. */
  readonly off: boolean;
}
