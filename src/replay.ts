export {
  replayRuns,
  type ReplayedRuns,
  type ReplayRunsOptions,
  type RunSelection,
  type SelectedRun,
} from "./replay/batch/replayRuns.ts";
export type { ReplayedRun, ReplayReport } from "./replay/batch/replayRuns.ts";
export { createFixture, type FixtureOptions } from "./replay/fixture/createFixture.ts";
export { replayFixture, type ReplayFixtureOptions } from "./replay/fixture/replayFixture.ts";
export type { RunFixture } from "./replay/fixture/createFixture.ts";
export { type MatcherResult, toMatchRecording } from "./replay/fixture/replayFixture.ts";
export type { CallSimulator, Candidate, UnrecordedCall } from "./replay/run/CounterfactualReplay.ts";
export type { Divergence, MessageDifference } from "./replay/results/Divergence.ts";
export { replayRun, type ReplayRunOptions } from "./replay/run/replayRun.ts";
export type { ReplayResult } from "./replay/run/replayRecording.ts";
export { readRunTrace, type RunTraceOptions } from "./replay/trace/readRunTrace.ts";
export type {
  RunTrace,
  TraceCall,
  TraceMessage,
  TraceModelRequest,
  TraceVisit,
  TraceWait,
} from "./replay/trace/RunTrace.ts";
export { compareRuns, type CompareRunsOptions } from "./replay/compare/compareRuns.ts";
export type {
  ComparedCall,
  ChangedPart,
  ItemChange,
  RunComparison,
  RunSummary,
  ComparedStep,
  StepSummary,
  ValueDifference,
} from "./replay/compare/RunComparison.ts";
export type { RunCost } from "./timeline/options/TimelineOptions.ts";
