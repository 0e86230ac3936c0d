export { readRunTrace, type RunTraceOptions } from "./replay/trace/readRunTrace.ts";
export type {
  RunTrace,
  TraceCall,
  TraceMessage,
  TraceModelRequest,
  TraceVisit,
  TraceWait,
} from "./replay/trace/RunTrace.ts";
