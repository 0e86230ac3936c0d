export type { Divergence, MessageDifference } from "./replay/run/Divergence.ts";
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
  RunCost,
  RunSummary,
  ComparedStep,
  StepSummary,
  ValueDifference,
} from "./replay/compare/RunComparison.ts";
