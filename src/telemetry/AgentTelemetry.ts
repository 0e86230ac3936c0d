import { defaultStrategyName } from "../agent/model/nodes.ts";
import type { AgentRun } from "../agent/feature/AgentRun.ts";
import { runOf } from "../agent/feature/ContextBinding.ts";
import type { FeaturePipeline } from "../agent/feature/FeaturePipeline.ts";
import type { ModelRequestEvent, ToolCallEvent } from "../agent/feature/PipelineEvents.ts";
import type { RunRequest } from "../agent/feature/RunRequest.ts";
import type { RunResult } from "../agent/feature/RunResult.ts";
import { subAgentOf } from "../agent/agentAsTool/agentAsTool.ts";
import type { PromptAnswer } from "../agent/model/PromptExecutor.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { RunRecord } from "../checkpoint/records/runRecords.ts";
import { triggerOf } from "../listeners/eventEmitter.ts";
import type {
  TelemetryFacts,
  TelemetryOperation,
  TelemetryContent,
  TelemetryFailure,
  TelemetrySpan,
} from "./TelemetryOperation.ts";
import { reasonOf } from "../internal/reasonOf.ts";
import { warn } from "../internal/warn.ts";

export type Next<Event, Result> = (event: Event) => Promise<Result>;

/** Performs a model request or a tool call. Calls `next` only if no result is recorded. */
export type Perform<Event, Result> = (event: Event, next: Next<Event, Result>) => Promise<Result>;

interface RecordedRun {
  readonly journal: { readonly agentId: string; durable(): Promise<void> };
  readonly run: RunRecord;
  readonly head: { readonly id: string } | undefined;
  readonly parent: object | undefined;
}

interface Reverted {
  readonly checkpointId: string;
  readonly reverted: readonly unknown[];
  readonly failed: readonly unknown[];
}

interface Pruned {
  readonly checkpointIds: readonly string[];
  readonly bytes: number;
}

/** Starts the operations of agents. Their spans are nested like the calls of the run. */
export class AgentTelemetry {
  readonly #begin: (operation: TelemetryOperation) => ActiveSpan;
  /** The spans of waiting calls, by journal. Such a span ends only with the run. */
  readonly #open = new WeakMap<object, Set<ActiveSpan>>();

  constructor(begin: (operation: TelemetryOperation) => ActiveSpan) {
    this.#begin = begin;
  }

  run(
    { hasDefaultId, agentId: ownId, graph }: FeaturePipeline,
    { agentId, input }: RunRequest,
    action: (span: ActiveSpan) => Promise<RunResult<unknown>>,
  ): Promise<RunResult<unknown>> {
    const nameOfStrategy = graph.name === defaultStrategyName ? undefined : graph.name;
    const agentName = hasDefaultId ? nameOfStrategy : ownId;
    const definitionId = hasDefaultId ? undefined : ownId;
    return within(this.#begin({ kind: "invoke_agent", agentId, agentName, definitionId }), async (span) => {
      span.addContent(() => ({ input }));
      const result = await action(span);
      const { runId, status, usage } = result;
      span.add({ runId, status, usage });
      if (result.status === "completed") span.addContent(() => ({ output: result.output }));
      return result;
    });
  }

  open<Result>(agentId: string, action: () => Promise<Result>): Promise<Result> {
    return within(this.#begin({ kind: "open", agentId }), action);
  }

  /** Traces the preparation of a stored state, with a link to the trace in which the run started. */
  resume<Recorder extends (RecordedRun & { readonly start: { readonly nodeId: string } }) | undefined>(
    {
      journal: { agentId },
      span: call,
    }: { readonly journal: { readonly agentId: string }; readonly span?: ActiveSpan },
    action: () => Promise<Recorder>,
  ): Promise<Recorder> {
    return within(this.#begin({ kind: "resume", agentId }), async (span) => {
      const recorder = await action();
      if (recorder) {
        const { run, head, start } = recorder;
        span.add({ runId: run.run, checkpointId: head?.id, nodeId: start.nodeId, linkedTrace: run.trace });
        call?.add({ runId: run.run, linkedTrace: run.trace });
      }
      return recorder;
    });
  }

  /** Traces a checkpoint until it is durable. */
  save({ journal, run: { run: runId }, head, parent }: RecordedRun, records: readonly AgentRecord[]): void {
    const record = records.find(({ kind }) => kind === "checkpoint");
    if (record?.kind !== "checkpoint") return;
    const begins = records.some(({ kind }) => kind === "lane") && (parent ? "line_started" : "run_started");
    const facts = { nodeId: record.node, checkpointId: head?.id, trigger: triggerOf(record, begins || undefined) };
    const span = this.#begin({ kind: "save", agentId: journal.agentId, runId, ...facts });
    journal.durable().then(
      () => span.end(),
      (error: unknown) => span.end({ error }),
    );
  }

  modelRequest(
    recorder: RecordedRun,
    event: ModelRequestEvent,
    next: Next<ModelRequestEvent, PromptAnswer>,
    perform: Perform<ModelRequestEvent, PromptAnswer>,
  ): Promise<PromptAnswer> {
    const { context, model, provider, parameters: modelParameters, messages } = event;
    const operation = {
      kind: "chat",
      ...placeOf(runOf(context)),
      nodeId: context.nodeId,
      model,
      provider,
      modelParameters,
    } as const;
    return this.#call(recorder, operation, async (span) => {
      span.addContent(() => ({ messages }));
      const answer = await replayable(span, next, (ask) => perform(event, ask));
      const { message, usage, finishReason } = answer;
      span.add({ usage, finishReason });
      span.addContent(() => ({ answer: message }));
      return answer;
    });
  }

  /** Traces a tool call. The operations of its sub-agent are nested in it. */
  toolCall(
    recorder: RecordedRun,
    event: ToolCallEvent,
    next: Next<ToolCallEvent, unknown>,
    perform: Perform<ToolCallEvent, unknown>,
  ): Promise<unknown> {
    const { context, tool, toolCallId, input } = event;
    const place = placeOf(runOf(context));
    const { name: toolName, effect } = tool;
    const operation = { kind: "execute_tool", ...place, nodeId: context.nodeId, toolName, toolCallId, effect } as const;
    const agent = {
      kind: "invoke_agent",
      ...place,
      agentPath: [...place.agentPath, toolName],
      agentName: toolName,
    } as const;
    const execute: typeof next = (made) =>
      subAgentOf(made.tool) ? this.#call(recorder, agent, () => next(made)) : next(made);
    return this.#call(recorder, operation, async (span) => {
      span.addContent(() => ({ input }));
      const output = await replayable(span, execute, (made) => perform(event, made));
      span.addContent(() => ({ output }));
      return output;
    });
  }

  /** Ends the spans of waiting calls when the run of a journal ends. */
  endCalls(journal: object): void {
    for (const span of [...(this.#open.get(journal) ?? [])].toReversed()) {
      span.add({ status: "suspended" });
      span.end();
    }
  }

  rollback<Report extends Reverted | undefined>(agentId: string, action: () => Promise<Report>): Promise<Report> {
    return within(this.#begin({ kind: "rollback", agentId }), async (span) => {
      const report = await action();
      if (report) {
        const { checkpointId, reverted, failed } = report;
        span.add({ checkpointId, reverted: reverted.length, unreverted: failed.length });
      }
      return report;
    });
  }

  inverse<End extends { readonly error?: unknown }>(
    agentId: string,
    call: {
      readonly call: string;
      readonly tool: string;
      readonly node: string;
      readonly agentPath: readonly string[];
    },
    action: () => Promise<End>,
  ): Promise<End> {
    const { call: toolCallId, tool: toolName, node: nodeId, agentPath } = call;
    return within(this.#begin({ kind: "inverse", agentId, toolCallId, toolName, nodeId, agentPath }), async (span) => {
      const end = await action();
      if ("error" in end) span.end({ error: end.error });
      return end;
    });
  }

  /** Traces how a task is stored in the queue. The first start of the task links to this span. */
  enqueue<Result>(agentId: string, action: (span: ActiveSpan) => Promise<Result>): Promise<Result> {
    return within(this.#begin({ kind: "enqueue", agentId }), action);
  }

  answer<Result>(agentId: string, requestIds: readonly string[], action: () => Promise<Result>): Promise<Result> {
    return within(this.#begin({ kind: "answer", agentId, requestIds }), action);
  }

  /** @param agentId If `undefined`, the operation is about all agents of a storage. */
  prune<Report>(
    agentId: string | undefined,
    action: () => Promise<Report>,
    prunedIn: (report: Report) => readonly Pruned[],
  ): Promise<Report> {
    return within(this.#begin({ kind: "prune", agentId }), async (span) => {
      const report = await action();
      const pruned = prunedIn(report);
      const sum = (of: (agent: Pruned) => number) => pruned.reduce((total, agent) => total + of(agent), 0);
      const prunedCheckpoints = sum(({ checkpointIds }) => checkpointIds.length);
      span.add({ prunedCheckpoints, prunedBytes: sum(({ bytes }) => bytes) });
      return report;
    });
  }

  #call<Result>(
    { journal }: RecordedRun,
    operation: TelemetryOperation,
    action: (span: ActiveSpan) => Promise<Result>,
  ): Promise<Result> {
    return within(this.#begin(operation), async (span) => {
      const open = this.#open.get(journal) ?? new Set();
      this.#open.set(journal, open.add(span));
      try {
        return await action(span);
      } finally {
        open.delete(span);
      }
    });
  }
}

/** Marks a call as replayed if it did not call `next`. */
async function replayable<Event, Result>(
  span: ActiveSpan,
  next: Next<Event, Result>,
  perform: (next: Next<Event, Result>) => Promise<Result>,
): Promise<Result> {
  let replayed = true;
  try {
    return await perform((event) => {
      replayed = false;
      return next(event);
    });
  } finally {
    span.add({ replayed });
  }
}

function placeOf({ agentId, runId, branch, agentPath }: AgentRun): TelemetryFacts & Pick<AgentRun, "agentPath"> {
  return { agentId, runId, branch, agentPath };
}

/** An operation in progress. Its methods never throw errors of the telemetry. */
export class ActiveSpan {
  /** A span that does nothing. */
  static readonly none: ActiveSpan = new ActiveSpan(() => undefined);

  readonly #span: TelemetrySpan | undefined;
  readonly #showsContent: boolean;
  #facts: TelemetryFacts = {};
  #hasEnded = false;

  constructor(start: () => TelemetrySpan | undefined, showsContent = false) {
    this.#span = guarded(start);
    this.#showsContent = showsContent;
  }

  /** The trace context that is stored with a run, if any. */
  get trace(): string | undefined {
    const trace: unknown = guarded(() => this.#span?.trace);
    return typeof trace === "string" ? trace : undefined;
  }

  /** Calls `action` once and returns its result. Operations that start before its promise settles are nested. */
  run<Result>(action: () => Result): Result {
    const span = this.#span;
    if (!span) return action();
    let end: (() => Result) | undefined;
    const once = () => (end ??= outcomeOf(action));
    guarded(() => span.run(once));
    return once()();
  }

  /** Adds facts that are known only after the start. */
  add(facts: TelemetryFacts): void {
    if (this.#span) this.#facts = { ...this.#facts, ...facts };
  }

  /** Adds inputs and outputs of models and tools. Calls `content` only if the telemetry shows content. */
  addContent(content: () => TelemetryContent): void {
    if (!this.#span || !this.#showsContent) return;
    this.add({ content: { ...this.#facts.content, ...guarded(content) } });
  }

  /** Ends the span. Later calls do nothing. */
  end(failure?: TelemetryFailure): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    guarded(() => this.#span?.end(this.#facts, failure));
  }
}

/** Calls `action` at once. Returns a function that returns its result or throws its error. */
function outcomeOf<Result>(action: () => Result): () => Result {
  try {
    const result = action();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Returns the result of `call`, or `undefined` if it throws. Ignores the rejection of a returned promise. */
export function guarded<Result>(call: () => Result): Result | undefined {
  try {
    const result = call();
    Promise.resolve(result).catch(warnOfTelemetry);
    return result;
  } catch (error) {
    warnOfTelemetry(error);
    return undefined;
  }
}

let hasWarned = false;

function warnOfTelemetry(error: unknown): void {
  if (!hasWarned) warn("telemetry_failed", `Telemetry failed and is incomplete: ${reasonOf(error)}`);
  hasWarned = true;
}

export function within<Result>(span: ActiveSpan, action: (span: ActiveSpan) => Promise<Result>): Promise<Result> {
  return span.run(async () => {
    try {
      const result = await action(span);
      span.end();
      return result;
    } catch (error) {
      span.end({ error });
      throw error;
    }
  });
}
