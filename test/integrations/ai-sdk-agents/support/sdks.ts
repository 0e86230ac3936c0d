import * as ai6 from "ai";
import * as ai7 from "ai7";

/** A version of the AI SDK, whose parts are called as those of version 6 are. */
export interface Sdk {
  readonly version: 6 | 7;
  readonly ai: typeof ai6;
  /** Of its models. */
  readonly specificationVersion: "v3" | "v4";
}

/** Every suite runs with each of them. */
export const sdks: readonly Sdk[] = [
  { version: 6, ai: ai6, specificationVersion: "v3" },
  // What the suites use is in both.
  { version: 7, ai: ai7 as unknown as typeof ai6, specificationVersion: "v4" },
];
