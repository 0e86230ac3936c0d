import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { withinOf, runOf } from "../../agent/feature/ContextBinding.ts";
import type { FeaturePipeline } from "../../agent/feature/FeaturePipeline.ts";
import type { InputRequestEvent, PipelineEvents, ToolCallEvent } from "../../agent/feature/PipelineEvents.ts";
import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import { ToolFailedError, ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import { shownValue } from "../../inspect/log/ValueLoader.ts";
import { usageView } from "../../inspect/show/checkpointView.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { describeError } from "../../checkpoint/records/runRecords.ts";
import type { RecordedInput, Recording, RecordedReply } from "../recording/Recording.ts";
import { unaskedApproval } from "../results/repliedTo.ts";
import {
  type RunTrace,
  type TraceCall,
  type TraceModelRequest,
  type TraceVisit,
  type TraceWait,
  plainValue,
} from "../trace/RunTrace.ts";
import { withRequestedOrder } from "../trace/traceVisits.ts";

type Failure = TraceModelRequest["failures"][number];

interface HistoryChanges {
  readonly added: readonly NumberedMessage[];
  readonly removed: readonly NumberedMessage[];
}

interface OpenVisit {
  readonly run: AgentRun;
  readonly node: string;
  /**
   * The message history at the start of the visit. Later messages extend the array, or a new array replaces it.
   * `undefined` after the visit, so that a replaced history is released.
   */
  before: Pick<AgentRun["state"]["history"], "entries" | "length"> | undefined;
  readonly inner: OpenVisit[];
  readonly requests: TraceModelRequest[];
  /** By id, in the order of their starts. `undefined` until the call ends. */
  readonly calls: Map<string, TraceCall | undefined>;
  /** In the order of their starts. `undefined` for an approval that was not needed, and until the reply is known. */
  readonly waits: (SeenWait | undefined)[];
  /** The failed requests since the last response, by the tool call that made the request. */
  readonly failures: Map<string | undefined, readonly Failure[]>;
  state: TraceVisit["state"];
  output?: { readonly value: unknown };
  /** `undefined` until the visit ends. */
  changes?: HistoryChanges;
}

type End = Pick<RunTrace, "status"> & { readonly output?: unknown; readonly error?: unknown };

/** Collects the trace of a replayed run from the events of its pipeline. */
export class TraceCollector {
  readonly #recording: Recording;
  readonly #visits: OpenVisit[] = [];
  readonly #open = new Map<AgentRun, OpenVisit>();
  /** The last ended visit of each run. */
  readonly #ended = new Map<AgentRun, OpenVisit>();
  /** The visits in branches of a parallel node, until the visit of the parallel node starts. */
  readonly #waiting = new Map<AgentRun, OpenVisit[]>();

  readonly #recordedOf: (event: InputRequestEvent) => RecordedInput | undefined;
  readonly #abandoned: Pick<WeakSet<AgentRun>, "delete">;

  /**
   * @param recordedOf returns the recorded request that a request repeats, at once or when the request ends
   * @param abandoned the runs that move away from the node that ended last
   */
  constructor(
    recording: Recording,
    recordedOf: (event: InputRequestEvent) => RecordedInput | undefined,
    abandoned: Pick<WeakSet<AgentRun>, "delete"> = new WeakSet(),
  ) {
    this.#recording = recording;
    this.#recordedOf = recordedOf;
    this.#abandoned = abandoned;
  }

  install(pipeline: FeaturePipeline): void {
    pipeline.onNodeStarting((event) => this.#begin(event));
    pipeline.onNodeCompleted(({ run, next }) => this.#end(run, "ended", { value: next.input }));
    pipeline.onRunMoved(({ run }) => this.#drop(run));
    pipeline.onModelRequestFailed((event) => this.#addFailure(event));
    pipeline.onModelRequestCompleted((event) => this.#addRequest(event));
    pipeline.onToolCallStarting(({ context, toolCallId }) => this.#callsOf(context)?.set(toolCallId, undefined));
    pipeline.onToolCallCompleted((event) => this.#addCall(event, { state: "succeeded", output: event.output }));
    pipeline.onToolCallFailed((event) => this.#addCall(event, failedEnd(event.error)));
    pipeline.aroundInputRequest((event, next) => this.#addWait(event, () => next(event)));
  }

  trace({ status, error, ...end }: End): RunTrace {
    const { agentId, runId, input } = this.#recording;
    const seen = [...this.#visits, ...[...this.#waiting.values()].flat()].flatMap((visit) => nestedFirst(visit));
    const visits = withRequestedOrder(seen.map(traceVisit));
    const open = [...this.#open.values()].find(({ run }) => !run.parent);
    return withoutUndefined({
      version: 1 as const,
      agentId,
      runId,
      status,
      input: viewedValue(input),
      output: "output" in end ? viewedValue(end.output) : undefined,
      error: error === undefined ? undefined : errorOf(error),
      visits,
      nextNode: status === "completed" ? undefined : open?.node,
    });
  }

  #begin({ run, nodeId }: PipelineEvents["nodeStarting"]): void {
    const { entries, length } = run.state.history;
    const inner = this.#waiting.get(run) ?? [];
    this.#waiting.delete(run);
    const seen = { requests: [], calls: new Map(), waits: [], failures: new Map() };
    const visit: OpenVisit = { run, node: nodeId, before: { entries, length }, inner, ...seen, state: "cut" };
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
    Object.assign(visit, { state, output, changes: changesOf(visit), before: undefined });
    this.#open.delete(run);
    this.#ended.set(run, visit);
  }

  /** Removes the visit that a move abandoned, with the branches of the visit. */
  #drop(run: AgentRun): void {
    this.#waiting.delete(run);
    const left = this.#abandoned.delete(run) ? this.#ended.get(run) : this.#open.get(run);
    if (!left) return;
    this.#open.delete(run);
    const lists = [this.#visits, ...this.#waiting.values(), ...[...this.#open.values()].map(({ inner }) => inner)];
    for (const list of lists) if (list.includes(left)) list.splice(list.indexOf(left), 1);
  }

  #addRequest(event: PipelineEvents["modelRequestCompleted"]): void {
    const { context, message: response, model, usage, finishReason: finish } = event;
    const run = runOf(context);
    const visit = this.#open.get(run);
    const within = withinOf(context);
    const newMessages = Math.max(0, run.state.history.length - (visit?.before?.length ?? 0));
    const failures = visit?.failures.get(within) ?? [];
    visit?.failures.delete(within);
    visit?.requests.push(
      withoutUndefined({ newMessages, response, model, finish, usage: usageView(usage), failures, within }),
    );
  }

  #addFailure({ context, error }: PipelineEvents["modelRequestFailed"]): void {
    const failures = this.#open.get(runOf(context))?.failures;
    const within = withinOf(context);
    const { code, ...failure } = errorOf(error);
    // A replay gives the code `model_request_failed` to recorded failures without a code.
    const found = code === undefined || code === "model_request_failed" ? failure : { ...failure, code };
    failures?.set(within, [...(failures.get(within) ?? []), found]);
  }

  #addCall(
    { context, toolCallId, tool, input }: ToolCallEvent,
    end: Pick<TraceCall, "state"> & { readonly output?: unknown; readonly error?: string },
  ): void {
    const { name, effect = "irreversible" } = tool;
    const within = withinOf(context);
    const call = withoutUndefined({ toolCallId, tool: name, effect, input, within });
    this.#callsOf(context)?.set(toolCallId, { ...call, ...end });
  }

  #callsOf(context: AgentContext): OpenVisit["calls"] | undefined {
    return this.#open.get(runOf(context))?.calls;
  }

  async #addWait(event: InputRequestEvent, next: () => Promise<unknown>): Promise<unknown> {
    const waits = this.#open.get(runOf(event.context))?.waits ?? [];
    const recorded = this.#recordedOf(event);
    const at = waits.push(recorded && recordedWait(event, recorded)) - 1;
    const end = (seen: SeenEnd | undefined) => {
      const found = this.#recordedOf(event);
      if (found) waits[at] = recordedWait(event, found);
      else if (seen) waits[at] = { ...begunWait(event), ...seen };
    };
    try {
      const answer = await next();
      end(answer === unaskedApproval ? undefined : answeredEnd(begunWait(event).kind, answer));
      return answer;
    } catch (error) {
      const { reason } = Object(error) as { readonly reason?: unknown };
      end(typeof reason === "string" ? { state: "rejected", rejection: reason } : undefined);
      throw error;
    }
  }
}

/** Returns the end of a failed call in the form that views of a log have. */
function failedEnd(error: unknown): Pick<TraceCall, "state"> & { readonly error?: string } {
  if (error instanceof ToolFailedError) return { state: "failed", error: error.reason };
  if (error instanceof ToolOutcomeUnknownError) return { state: "unknown" };
  return { state: "failed", error: reasonOf(error) };
}

function errorOf(error: unknown): NonNullable<RunTrace["error"]> {
  const { name, message, code } = describeError(error);
  return withoutUndefined({ name, message, code });
}

function nestedFirst(visit: OpenVisit): readonly OpenVisit[] {
  const inner = visit.inner.map((each, at) => ({ each, at }));
  const sorted = inner.toSorted(
    (a, b) => (a.each.run.branch ?? "").localeCompare(b.each.run.branch ?? "", "en", { numeric: true }) || a.at - b.at,
  );
  return [...sorted.flatMap(({ each }) => nestedFirst(each)), visit];
}

function traceVisit(visit: OpenVisit): TraceVisit {
  const { run, node, state, output, changes, ...seen } = visit;
  const { branch, agentPath } = run;
  const waits = seen.waits.flatMap((wait) => (wait ? shownWait(wait, changes !== undefined) : []));
  const isWaiting = changes === undefined && waits.some((wait) => wait.state === "open");
  return withoutUndefined({
    node,
    branch,
    agentPath: agentPath.length === 0 ? undefined : [...agentPath],
    state: isWaiting ? "waiting" : state,
    output: output && viewedValue(output.value),
    requests: seen.requests.map((request) => ({ ...request, response: viewedValue(request.response) })),
    calls: [...seen.calls.values()].flatMap((call) => (call ? traceCall(call) : [])),
    waits,
    messages: traceMessages(changes ?? changesOf(visit)),
  });
}

function traceCall(call: TraceCall): TraceCall {
  return { ...call, input: viewedValue(call.input), ...("output" in call && { output: viewedValue(call.output) }) };
}

function changesOf({ run, before }: OpenVisit): HistoryChanges {
  const { entries } = run.state.history;
  if (!before || before.entries === entries) return { added: entries.slice(before?.length), removed: [] };
  const start = before.entries.slice(0, before.length);
  const [known, kept] = [start, entries].map((list) => new Set(list.map(({ number }) => number)));
  return {
    added: entries.filter(({ number }) => !known?.has(number)),
    removed: start.filter(({ number }) => !kept?.has(number)),
  };
}

function traceMessages({ added, removed }: HistoryChanges): TraceVisit["messages"] {
  return {
    added: added.map(({ number, message }) => ({ number, message: viewedValue(message) })),
    removed: removed.map(({ number }) => [number, number] as const),
  };
}

/** A request for input of a replayed run, with the values of the run. */
interface SeenWait extends Pick<TraceWait, "kind" | "tool" | "rejection"> {
  readonly prompt: unknown;
  readonly answer?: unknown;
  /** `undefined` while the request has no answer. */
  readonly state?: TraceWait["state"];
}

type SeenEnd = Pick<SeenWait, "state" | "answer" | "rejection">;

/** Returns a request with its recorded reply, and the recorded prompt, because a timer prompt contains the time. */
function recordedWait(event: InputRequestEvent, { prompt, reply }: RecordedInput): SeenWait {
  const wait = begunWait(event);
  return { ...wait, prompt, ...(reply && recordedEnd(wait.kind, reply)) };
}

/** @param isOver whether the node has completed */
function shownWait({ state, ...wait }: SeenWait, isOver: boolean): TraceWait {
  const answer = "answer" in wait ? { answer: viewedValue(wait.answer) } : {};
  return { ...wait, state: state ?? (isOver ? "left" : "open"), prompt: viewedValue(wait.prompt), ...answer };
}

function begunWait({ approval, timer, request: { prompt } }: InputRequestEvent): SeenWait {
  if (approval) return { kind: "approval", tool: approval.call.tool.name, prompt };
  if (timer) return { kind: timer.event ? "event" : "timer", prompt };
  return { kind: "input", prompt };
}

function recordedEnd(kind: TraceWait["kind"], { answer, rejected, expiredAt }: RecordedReply): SeenEnd {
  if (rejected !== undefined) return { state: "rejected", rejection: rejected };
  if (expiredAt !== undefined && kind !== "timer") return { state: "expired" };
  return answeredEnd(kind, answer);
}

function answeredEnd(kind: TraceWait["kind"], answer: unknown): SeenEnd {
  return kind === "timer" ? { state: "fired" } : { state: "answered", answer };
}

/** Returns a value of a replayed run in the form that views of a log have. */
function viewedValue(value: unknown): unknown {
  return plainValue(shownValue(value, Infinity));
}

/** Adds the trace to a result. The first read makes the trace, because most tests do not read a trace. */
export function withTrace<Result extends object>(
  result: Result,
  make: () => RunTrace,
): Result & { readonly trace: RunTrace } {
  let made: RunTrace | undefined;
  return Object.defineProperty(result, "trace", {
    enumerable: true,
    get: () => (made ??= make()),
  }) as Result & { readonly trace: RunTrace };
}
