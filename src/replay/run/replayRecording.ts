import type { AIAgent } from "../../agent/AIAgent.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { endsOf, runOf, visitIn, withinOf } from "../../agent/feature/ContextBinding.ts";
import type { FeaturePipeline } from "../../agent/feature/FeaturePipeline.ts";
import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { startOfLane, type RunStart } from "../../agent/feature/RunRequest.ts";
import { executeRun } from "../../agent/run/executeRun.ts";
import type { RunStateSeed } from "../../agent/state/RunState.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import { IterationLimitError } from "../../errors/strategyErrors.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import type { Recording, RecordedInput, RecordedEnd } from "../recording/Recording.ts";
import { type Divergence, type FoundDifference, shownError, sameValue } from "../results/Divergence.ts";
import { repliedTo, unaskedApproval } from "../results/repliedTo.ts";
import type { RunTrace } from "../trace/RunTrace.ts";
import { ExactReplay } from "./ExactReplay.ts";
import { ReplayedLine } from "./LineReplay.ts";
import { definitionOf, ReplayDefinitions } from "./replayDefinition.ts";
import { ReplayedPersistence } from "./ReplayedPersistence.ts";
import { replayModelRequest, replayToolCall, callInRecording } from "./replayRequests.ts";
import { TraceCollector, withTrace } from "./TraceCollector.ts";

/** The result of a replay. */
export interface ReplayResult {
  /**
   * True if the run has made the recorded requests and calls on the recorded path, with the recorded output. In a
   * counterfactual replay, true if the run has completed with the recorded output.
   */
  readonly matches: boolean;
  /** The first difference. `undefined` if the run matches its recording. */
  readonly divergence?: Divergence;
  /**
   * The end of the replayed run: the recorded status, or `diverged`. In a counterfactual replay, `stopped` if nothing
   * is recorded for the request or call in `divergence`.
   */
  readonly status: string;
  /** The output of a completed run, as the strategy returned it. `trace.output` is plain JSON. */
  readonly output?: unknown;
  /** The thrown error of a counterfactual run that failed. `trace.error` is plain JSON. */
  readonly error?: unknown;
  /** The replayed run as plain JSON, for `compareRuns`, without times and checkpoints. */
  readonly trace: RunTrace;
}

/** Runs the strategy of an agent in memory with the results of a recording. @param signal Stops the replay. */
export async function replayRecording(
  agent: AIAgent<never, unknown>,
  recording: Recording,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<ReplayResult> {
  signal?.throwIfAborted();
  const definition = definitionOf(agent);
  const replay = new ExactReplay(recording, await platformSha256());
  const trace = new TraceCollector(recording, (event) => recordedInput(replay, event), replay.abandoned);
  const definitions: ReplayDefinitions = new ReplayDefinitions({
    install: (pipeline, { maxIterations }) => {
      trace.install(pipeline);
      install(replay, definitions, pipeline);
      pipeline.onNodeStarting(({ run, nodeId }) => assertIterations(run, nodeId, maxIterations));
    },
    persistence: (context) => new ReplayedPersistence(context, replay),
    // All processes and moves of the run count as one execution here. Only completed nodes are limited.
    change: () => ({ maxIterations: Number.POSITIVE_INFINITY }),
  });
  const { agentId, runId, input } = recording;
  const start = replay.starting(replay.root, freshStart(recording));
  const signals = signal ? AbortSignal.any([signal, replay.signal]) : replay.signal;
  const request = { kind: "run", agentId, input, options: { runId, signal: signals }, start } as const;
  try {
    const result = await executeRun(definitions.of(definition), request);
    return ended(replay, trace, result.status === "completed" ? { output: result.output } : {});
  } catch (error) {
    signal?.throwIfAborted();
    return ended(replay, trace, replay.isStop(error) ? {} : { error });
  }
}

function install(replay: ExactReplay, definitions: ReplayDefinitions, pipeline: FeaturePipeline): void {
  replay.install(pipeline);
  pipeline.aroundModelRequest((event) => replayModelRequest(replay, event));
  pipeline.aroundToolCall((event, next) => replayToolCall(replay, definitions, event, next));
  pipeline.aroundInputRequest((event, next) => replayInputRequest(replay, event, next));
  pipeline.aroundBranch(async (event, next) => {
    const begun = await next(event);
    if ("result" in begun) return begun;
    const { run, key, nodeId } = event;
    const line = replay.of(run);
    const recorded = line.branch(key, run);
    if (!recorded && !line.isTail) replay.diverge(run, nodeId, { what: "branches", actual: key });
    if (!recorded) {
      await replay.hold(new ReplayedLine(line));
      return begun;
    }
    return { start: replay.starting(replay.nested(line, recorded), begun.start) };
  });
  pipeline.aroundAgentCall(async (event, next) => {
    const begun = await next(event);
    const line = replay.of(event.run);
    const recorded = line.agent(event.toolCallId);
    if ("output" in begun || !recorded) return begun;
    return { start: replay.starting(replay.nested(line, recorded), begun.start) };
  });
}

/** @throws IterationLimitError */
function assertIterations({ state }: AgentRun, nodeId: string, maxIterations: number): void {
  if (state.iteration >= maxIterations) throw new IterationLimitError(maxIterations, nodeId);
}

function ended(replay: ExactReplay, collected: TraceCollector, end: ReplayedEnd): ReplayResult {
  const divergence = replay.divergence ?? endDivergence(replay, end);
  if (divergence)
    return withTrace({ matches: false, divergence, status: "diverged" }, () =>
      collected.trace({ status: "in_progress" }),
    );
  const { status } = replay.recording.end;
  const result = { matches: true, status, ...("output" in end && { output: end.output }) };
  return withTrace(result, () => collected.trace({ ...end, status: status as RunTrace["status"] }));
}

type Next = (event: InputRequestEvent) => Promise<unknown>;

/** Returns the recorded answer to a request for input or an approval, or the recorded end of a timer or a receipt. */
async function replayInputRequest(replay: ExactReplay, event: InputRequestEvent, next: Next): Promise<unknown> {
  const { context, approval } = event;
  const recorded = recordedInput(replay, event);
  if (approval && (!recorded?.reply || "answer" in recorded.reply) && callInRecording(replay, approval.call))
    return unaskedApproval;
  if (!recorded) return unrecorded(replay, event, next);
  const { reply, requestId } = recorded;
  if (!reply) return withoutReply(replay, event, next);
  const answer = await endsOf(context).deliver(requestId, () => repliedTo(event, recorded, reply));
  return answer.isRefused ? refused(replay, event, recorded) : answer.value;
}

async function unrecorded(replay: ExactReplay, event: InputRequestEvent, next: Next): Promise<unknown> {
  const { context, approval, request } = event;
  if (approval && (await approval.judge?.()) === false) return unaskedApproval;
  // A request that lost a race is not recorded.
  if (!approval && !replay.of(runOf(context)).isTail) return withoutReply(replay, event, next);
  return replay.unrecorded(context, { what: "input", actual: { prompt: request.prompt } });
}

/** Waits until the node is over, if the recorded node has continued without this request. */
function withoutReply(replay: ExactReplay, event: InputRequestEvent, next: Next): Promise<unknown> {
  const { context, timer } = event;
  if (replay.of(runOf(context)).isTail) return replay.leave(context);
  return next(timer ? { ...event, timer: { dueAt: timer.dueAt, leftMs: Infinity, mayWait: true } } : event);
}

/** The recorded answer does not fit the schema. */
function refused(replay: ExactReplay, event: InputRequestEvent, { prompt, reply }: RecordedInput): Promise<unknown> {
  const { context, request } = event;
  const run = runOf(context);
  if (replay.of(run).isTail) return replay.leave(context);
  const expected = { prompt, answer: reply?.answer };
  return replay.diverge(run, context.nodeId, { what: "input", expected, actual: { prompt: request.prompt } });
}

function recordedInput(replay: ExactReplay, event: InputRequestEvent): RecordedInput | undefined {
  const { context, request, question, ordinal, approval } = event;
  const place = { visit: visitIn(event.visit), id: request.id, question, ordinal, within: withinOf(context) };
  return replay.of(runOf(context)).records.input({ ...place, isApproval: approval !== undefined });
}

/** How a replayed run ended: with an output, with an error, or at the end of its recording. */
interface ReplayedEnd {
  readonly output?: unknown;
  readonly error?: unknown;
}

/** Compares the end of a replayed run with the recorded end. Returns `undefined` if they are the same. */
function endDivergence(replay: ExactReplay, end: ReplayedEnd): Divergence | undefined {
  const { root, recording } = replay;
  const found = differenceOf(replay, recording.end, end);
  return found && { ...found, nodeId: root.current?.nodeId ?? "start", agentPath: [], messages: [] };
}

function differenceOf(replay: ExactReplay, recorded: RecordedEnd, end: ReplayedEnd): FoundDifference | undefined {
  if ("error" in end) return failureDifference(replay, recorded, end.error);
  if (recorded.status === "completed") return outputDifference(recorded, end);
  if (recorded.status === "failed") return failsElsewhere(replay, recorded, end) ? undefined : noFailure(recorded, end);
  if (recorded.status === "cancelled" || !("output" in end)) return undefined;
  return { what: "path", actual: { nodeId: "finish", input: end.output } };
}

function outputDifference({ output: expected }: RecordedEnd, end: ReplayedEnd): FoundDifference | undefined {
  if (!("output" in end)) return { what: "path", expected: { nodeId: "finish", input: expected } };
  return sameValue(expected, end.output) ? undefined : { what: "output", expected, actual: end.output };
}

function failureDifference(
  { failures }: ExactReplay,
  { status, error: expected }: RecordedEnd,
  error: unknown,
): FoundDifference | undefined {
  const actual = shownError(error);
  if (status !== "failed" || !expected)
    return status !== "completed" && failures.has(error) ? undefined : { what: "failure", actual };
  const { name, message } = expected;
  const isSame = name === actual.name && fitsHidden(message, actual.message);
  return isSame ? undefined : { what: "failure", expected: { name, message }, actual };
}

/** Returns whether a message is the same except for the parts that a fixture hides. */
function fitsHidden(recorded: string, message: string): boolean {
  const [start = "", ...others] = recorded.split("[hidden]");
  const end = others.pop();
  if (end === undefined) return recorded === message;
  if (!message.startsWith(start)) return false;
  let at = start.length;
  for (const part of others) {
    const found = message.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return message.length - end.length >= at && message.endsWith(end);
}

function noFailure({ error }: RecordedEnd, end: ReplayedEnd): FoundDifference {
  const expected = error && { name: error.name, message: error.message };
  return { what: "failure", expected, ...("output" in end && { actual: { output: end.output } }) };
}

/** Returns whether a replay cannot reproduce the failure: a missing result, or a skipped check. */
function failsElsewhere({ isInNode }: ExactReplay, { error }: RecordedEnd, end: ReplayedEnd): boolean {
  return !("output" in end) && (isInNode || !error || notReplayed.has(error.code ?? ""));
}

const notReplayed: ReadonlySet<string> = new Set(["iteration_limit", "not_serializable", "checkpoint_too_large"]);

export function freshStart(recording: Recording): RunStart {
  const { input, history, line } = recording;
  const lane = line.parts[0]?.line.lane ?? 1;
  return {
    nodeId: "start",
    input,
    state: history ? keptState(history, line) : {},
    ...startOfLane(recording, lane),
  };
}

/** The first checkpoint contains the results that the run added for open calls of the run before. */
function keptState(history: NonNullable<Recording["history"]>, { parts }: Recording["line"]): RunStateSeed {
  const [first] = parts[0]?.checkpoints ?? [];
  return {
    messages: numbered(history),
    numbers: { next: history.length + 1 },
    ...(first?.iteration === 0 && { added: first.added }),
  };
}

export function numbered(messages: readonly Message[]): readonly NumberedMessage[] {
  return messages.map((message, at) => ({ number: at + 1, message }));
}
