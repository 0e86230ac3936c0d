import type { MergeResult } from "../merge/MergeResult.ts";

/** Who can settle a conflict, in the order in which they are asked. */
export type ResolutionStep = "merge" | "model" | "person";

/** Why a step did not settle it. Its result was not applied. */
export interface RefusedResolution {
  readonly step: ResolutionStep;
  readonly reason: string;
}

/** What became of a conflict, and who settled it. */
export type ResolutionOutcome =
  | {
      readonly settled: true;
      readonly settledBy: ResolutionStep;
      /** The content that the file is to have. */
      readonly text: string;
      readonly refused: readonly RefusedResolution[];
    }
  | {
      readonly settled: false;
      /** Between markers where the sides conflict. */
      readonly merged: MergeResult;
      /** What each step that was asked came to. */
      readonly refused: readonly RefusedResolution[];
    };
