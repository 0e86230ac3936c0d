/** What a model request uses unless told otherwise. Replaced as a whole, never changed: another object means it changed. */
export interface RunSettings {
  readonly model: string;
  /** Absent: the provider's defaults. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Names of the tools the model may call. */
  readonly tools: readonly string[];
}
