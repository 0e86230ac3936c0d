import type { MergeResult } from "../merge/MergeResult.ts";

/** The steps that can resolve a conflict, in order. */
export type ResolutionStep = "merge" | "model" | "person";

/** A step that did not resolve the conflict; its result was not applied. */
export interface RefusedResolution {
  readonly step: ResolutionStep;
  readonly reason: string;
}

/** The outcome of a conflict, and the step that resolved it. */
export type ResolutionOutcome =
  | {
      readonly resolved: true;
      readonly resolvedBy: ResolutionStep;
      /** The new content of the file. */
      readonly text: string;
      readonly refused: readonly RefusedResolution[];
    }
  | {
      readonly resolved: false;
      /** The merge, with markers around conflicts. */
      readonly merged: MergeResult;
      /** Why each step did not resolve it. */
      readonly refused: readonly RefusedResolution[];
    };
