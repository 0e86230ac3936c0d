import { callOf, runOf } from "../../agent/feature/ContextBinding.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { FeaturePipeline } from "../../agent/feature/FeaturePipeline.ts";
import type { InputRequestEvent, PipelineEvents, ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Recording } from "../recording/Recording.ts";
import { unaskedApproval } from "../results/repliedTo.ts";
import type { RunTrace, TraceCall, TraceModelRequest, TraceVisit, TraceWait } from "../trace/RunTrace.ts";

interface OpenVisit {
  readonly run: AgentRun;
  readonly node: string;
  readonly before: readonly NumberedMessage[];
  readonly inner: OpenVisit[];
  readonly requests: TraceModelRequest[];
  readonly calls: TraceCall[];
  readonly waits: TraceWait[];
  state: TraceVisit["state"];
  output?: { readonly value: unknown };
  after?: readonly NumberedMessage[];
}

type End = Pick<RunTrace, "status"> & { readonly output?: unknown; readonly error?: unknown };

/** Collects the trace of a replayed run from the events of its pipeline. */
export class TraceCollector {
  readonly #recording: Recording;
  readonly #visits: OpenVisit[] = [];
  readonly #open = new Map<AgentRun, OpenVisit>();
  /** The visits in branches of a parallel node, before its own visit starts. */
  readonly #waiting = new Map<AgentRun, OpenVisit[]>();

  readonly #promptOf: (event: InputRequestEvent) => string | undefined;

  /** @param promptOf returns the recorded prompt of a request, because the prompt of a timer contains its time */
  constructor(recording: Recording, promptOf: (event: InputRequestEvent) => string | undefined = () => undefined) {
    this.#recording = recording;
    this.#promptOf = promptOf;
  }

  install(pipeline: FeaturePipeline): void {
    pipeline.onNodeStarting((event) => this.#begin(event));
    pipeline.onNodeCompleted(({ run, next }) => this.#end(run, "ended", { value: next.input }));
    pipeline.onRunMoved(({ run }) => this.#drop(run));
    pipeline.onModelRequestCompleted((event) => this.#addRequest(event));
    pipeline.onToolCallCompleted((event) => this.#addCall(event, { state: "succeeded", output: event.output }));
    pipeline.onToolCallFailed((event) =>
      this.#addCall(event, { state: "failed", error: String(Object(event.error).message) }),
    );
    pipeline.aroundInputRequest(async (event, next) => {
      const answer = await next(event);
      this.#addWait(event, answer);
      return answer;
    });
  }

  /** Returns the trace of the run with its end. */
  trace({ status, output, error }: End): RunTrace {
    const { agentId, runId, input } = this.#recording;
    const visits = [...this.#visits, ...this.#left()].flatMap((visit) => nestedFirst(visit)).map(traceVisit);
    const failure = error instanceof Error ? { name: error.name, message: error.message } : undefined;
    return withoutUndefined({ version: 1 as const, agentId, runId, status, input, output, error: failure, visits });
  }

  #left(): readonly OpenVisit[] {
    return [...this.#waiting.values()].flat();
  }

  #begin({ run, nodeId }: PipelineEvents["nodeStarting"]): void {
    const before = [...run.state.history.entries];
    const inner = this.#waiting.get(run) ?? [];
    this.#waiting.delete(run);
    const visit: OpenVisit = { run, node: nodeId, before, inner, requests: [], calls: [], waits: [], state: "cut" };
    this.#open.set(run, visit);
    const { parent } = run;
    if (!parent) return void this.#visits.push(visit);
    // A sub-agent runs during the visit of its caller, and a branch before the visit that joins it.
    const around = run.call === undefined ? undefined : this.#open.get(parent);
    if (around) around.inner.push(visit);
    else this.#waiting.set(parent, [...(this.#waiting.get(parent) ?? []), visit]);
  }

  #end(run: AgentRun, state: TraceVisit["state"], output: { readonly value: unknown }): void {
    const visit = this.#open.get(run);
    if (!visit) return;
    Object.assign(visit, { state, output, after: [...run.state.history.entries] });
    this.#open.delete(run);
  }

  /** Removes the visit that a move has abandoned, and the branches that started before it. */
  #drop(run: AgentRun): void {
    this.#waiting.delete(run);
    const left = this.#open.get(run);
    if (!left) return;
    this.#open.delete(run);
    const lists = [this.#visits, ...this.#waiting.values(), ...[...this.#open.values()].map(({ inner }) => inner)];
    for (const list of lists) if (list.includes(left)) list.splice(list.indexOf(left), 1);
  }

  #addRequest(event: PipelineEvents["modelRequestCompleted"]): void {
    const { context, message: response, model, usage, finishReason: finish } = event;
    const run = runOf(context);
    const visit = this.#open.get(run);
    const within = callOf(context)?.toolCallId;
    const newMessages = Math.max(0, run.state.history.length - (visit?.before.length ?? 0));
    visit?.requests.push(
      withoutUndefined({ newMessages, response, model, finish, usage: usageOf(usage), failures: [], within }),
    );
  }

  #addCall(
    { context, toolCallId, tool, input }: ToolCallEvent,
    end: Pick<TraceCall, "state"> & { readonly output?: unknown; readonly error?: string },
  ): void {
    const { name, effect = "irreversible" } = tool;
    const within = callOf(context)?.toolCallId;
    const call = withoutUndefined({ toolCallId, tool: name, effect, input, within });
    this.#open.get(runOf(context))?.calls.push({ ...call, ...end });
  }

  #addWait(event: InputRequestEvent, answer: unknown): void {
    const { context, approval, timer, request } = event;
    if (answer === unaskedApproval) return;
    const kind = approval ? "approval" : timer?.event ? "event" : timer ? "timer" : "input";
    const state = timer && !timer.event ? "fired" : "answered";
    const prompt = this.#promptOf(event) ?? request.prompt;
    const wait = { kind, state, prompt, ...(approval && { tool: approval.call.tool.name }) } as const;
    this.#open.get(runOf(context))?.waits.push({ ...wait, ...(answer !== undefined && { answer }) });
  }
}

function nestedFirst(visit: OpenVisit): readonly OpenVisit[] {
  const inner = visit.inner.map((each, at) => ({ each, at }));
  const sorted = inner.toSorted(
    (a, b) => (a.each.run.branch ?? "").localeCompare(b.each.run.branch ?? "", "en", { numeric: true }) || a.at - b.at,
  );
  return [...sorted.flatMap(({ each }) => nestedFirst(each)), visit];
}

function traceVisit({ run, node, state, output, requests, calls, waits, before, after }: OpenVisit): TraceVisit {
  const { branch, agentPath } = run;
  return withoutUndefined({
    node,
    branch,
    agentPath: agentPath.length === 0 ? undefined : [...agentPath],
    state,
    output: output?.value,
    requests,
    calls,
    waits,
    messages: changesOf(before, after ?? run.state.history.entries),
  });
}

function changesOf(before: readonly NumberedMessage[], after: readonly NumberedMessage[]): TraceVisit["messages"] {
  const known = new Set(before.map(({ number }) => number));
  const kept = new Set(after.map(({ number }) => number));
  return {
    added: after.filter(({ number }) => !known.has(number)).map(({ number, message }) => ({ number, message })),
    removed: before.filter(({ number }) => !kept.has(number)).map(({ number }) => [number, number] as const),
  };
}

function usageOf(usage: PipelineEvents["modelRequestCompleted"]["usage"]): TraceModelRequest["usage"] {
  if (!usage) return undefined;
  const { inputTokens, outputTokens, totalTokens, inputTokenDetails } = usage;
  const cachedInputTokens = inputTokenDetails?.cacheReadTokens;
  return withoutUndefined({ inputTokens, outputTokens, totalTokens, cachedInputTokens });
}
