import type { UsageView } from "../../inspect/view/viewParts.ts";
import type { RunCost } from "../../timeline/options/TimelineOptions.ts";
import type { RunTrace, TraceCall, TraceVisit, TraceWait } from "../trace/RunTrace.ts";

/** The differences between two runs, as plain JSON. */
export interface RunComparison {
  /** Whether the runs are equal, except for models, tokens, times, costs and the ids of calls. */
  readonly isSame: boolean;
  readonly before: RunSummary;
  readonly after: RunSummary;
  /** Omitted if equal. */
  readonly input?: ChangedPart;
  /** Omitted if equal. */
  readonly status?: ChangedPart<RunTrace["status"]>;
  /** Omitted if equal. */
  readonly output?: ChangedPart;
  /** The errors of failed runs. Omitted if equal. */
  readonly error?: ChangedPart<NonNullable<RunTrace["error"]>>;
  /** The node executions of both runs, aligned. */
  readonly steps: readonly ComparedStep[];
  /** The index of the first step that is not `same`. Omitted if all steps are `same`. */
  readonly firstDivergence?: number;
  /** The numbers of calls. */
  readonly calls: Readonly<Record<ComparedStep["change"], number>>;
}

/** The totals of a run. */
export interface RunSummary extends Pick<RunTrace, "agentId" | "runId" | "status" | "durationMs"> {
  readonly visits: number;
  readonly modelRequests: number;
  readonly calls: number;
  /** The models of the requests, without duplicates. */
  readonly models: readonly string[];
  readonly usage: UsageView;
  /** Omitted without `prices`. */
  readonly cost?: RunCost;
}

/** A value that differs. */
export interface ChangedPart<Value = unknown> {
  /** The value in the first run. Omitted if the first run does not have it. */
  readonly before?: Value;
  /** The value in the second run. Omitted if the second run does not have it. */
  readonly after?: Value;
}

/** A node execution of one run or of both. */
export interface ComparedStep extends Pick<TraceVisit, "node" | "branch" | "agentPath"> {
  /** `added` if only the second run has the execution, `removed` if only the first run has it. */
  readonly change: "same" | "changed" | "added" | "removed";
  readonly before?: StepSummary;
  readonly after?: StepSummary;
  /** The output, if it differs. */
  readonly output?: ChangedPart;
  /** The calls that differ, including all calls of an added or removed step. */
  readonly calls: readonly ComparedCall[];
  /** The messages that differ, with the responses that are not in the history. */
  readonly messages: readonly ItemChange[];
  /** The number of messages that the node removed from the history, if it differs. */
  readonly removedMessages?: ChangedPart<number>;
  /** The waits that differ. */
  readonly waits: readonly ItemChange<TraceWait>[];
}

/** An item of a list that only one run has. */
export interface ItemChange<Item = unknown> {
  readonly change: "added" | "removed";
  readonly item: Item;
}

/** The figures of a node execution. */
export interface StepSummary {
  /** The index in `RunTrace.visits`. */
  readonly index: number;
  readonly durationMs?: number;
  /** The number of tokens. Omitted if the provider did not report tokens. */
  readonly totalTokens?: number;
}

/** A call that differs. */
export interface ComparedCall {
  readonly change: "changed" | "added" | "removed";
  readonly tool: string;
  readonly before?: TraceCall;
  readonly after?: TraceCall;
  /** The parts of the input that differ. Empty if the call was added or removed. */
  readonly input: readonly ValueDifference[];
  /** Whether the state, the output or the error of a changed call differs. */
  readonly isOutcomeChanged: boolean;
}

/** A part of a value that differs. */
export interface ValueDifference {
  /** The path of keys to the part. Empty for the whole value. */
  readonly path: readonly (string | number)[];
  /** The part in the first value. Omitted if the first value does not have it. */
  readonly before?: unknown;
  /** The part in the second value. Omitted if the second value does not have it. */
  readonly after?: unknown;
}
