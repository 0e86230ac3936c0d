import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { subAgentOf } from "../../agent/agentAsTool/agentAsTool.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { callOf, runOf } from "../../agent/feature/ContextBinding.ts";
import type { FeaturePipeline } from "../../agent/feature/FeaturePipeline.ts";
import type {
  AgentCallBeginning,
  AgentCallEvent,
  BranchBeginning,
  BranchEvent,
  InputRequestEvent,
  ModelRequestEvent,
  ToolCallEvent,
} from "../../agent/feature/PipelineEvents.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { PromptAnswer } from "../../agent/model/PromptExecutor.ts";
import { repeatOutcome } from "./replayRequests.ts";
import { RequestDigest } from "../../agent/model/RequestDigest.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { ToolFailedError } from "../../errors/toolCallErrors.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { LinePosition } from "../recording/readStart.ts";
import type { RecordedInput, RecordedToolCall } from "../recording/Recording.ts";
import { type Divergence, type FoundDifference, ReplayStop } from "../results/Divergence.ts";
import { repliedTo, unaskedApproval } from "../results/repliedTo.ts";
import type { ResultPlace, ResultPool } from "../results/ResultPool.ts";
import { numbered } from "./replayRecording.ts";
import type { ReplayDefinitions } from "./replayDefinition.ts";
import type { PersistenceAnswers } from "./ReplayedPersistence.ts";
import { z } from "zod";
import { functionSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";

/** A call without a recorded outcome. */
export interface UnrecordedCall extends Pick<Divergence, "nodeId" | "branch" | "agentPath"> {
  readonly toolName: string;
  readonly input: unknown;
}

/** Returns the output of a call. If this function throws, the call fails with the error. */
export type CallSimulator = (call: UnrecordedCall) => unknown;

/** The changes that a counterfactual replay tries. Without a change, the recorded run is repeated exactly. */
export interface Candidate {
  /**
   * The id or name of the checkpoint at which the replay starts, on any line. Every other open line starts at its
   * newest earlier checkpoint. Results from before the start of a line do not count. Defaults to the start of the run.
   */
  readonly from?: string | undefined;
  /** `"recorded"` returns recorded responses by node. `"live"` calls the model. Defaults to `"recorded"`. */
  readonly model?: "recorded" | "live" | undefined;
  /** The name of the model in live requests. Defaults to the model of the agent or of the checkpoint. */
  readonly llmModel?: string | undefined;
  /** Replaces the system prompt. Defaults to the prompt of the agent, or of the history at the checkpoint. */
  readonly systemPrompt?: string | undefined;
  /**
   * `"recorded"` returns the outcome of the recorded call with the same tool and an equal input. Each recorded call
   * counts once. A function simulates all calls. Defaults to `"recorded"`.
   */
  readonly tools?: "recorded" | CallSimulator | undefined;
  /**
   * The handling of a call without a recording. `"stop"` ends the replay. A function simulates the call. `"execute"`
   * runs tools with `effect: "none"`, and ends the replay at any other tool. Defaults to `"stop"`.
   */
  readonly onUnrecordedCall?: "stop" | "execute" | CallSimulator | undefined;
}

export function candidateShape() {
  return {
    from: nonEmptyString.optional(),
    model: z.enum(["recorded", "live"]).optional(),
    llmModel: nonEmptyString.optional(),
    systemPrompt: z.string().optional(),
    tools: z
      .union([z.literal("recorded"), functionSchema()], { error: 'expected "recorded" or a function' })
      .optional(),
    onUnrecordedCall: z
      .union([z.enum(["stop", "execute"]), functionSchema()], { error: 'expected "stop", "execute" or a function' })
      .optional(),
  } satisfies Record<keyof Candidate, z.ZodType>;
}

export function isCandidate({ from, model, llmModel, systemPrompt, tools, onUnrecordedCall }: Candidate): boolean {
  return [from, model, llmModel, systemPrompt, tools, onUnrecordedCall].some((option) => option !== undefined);
}

type Next<Event> = (event: Event) => Promise<unknown>;

/** Runs changed code, or another model, with the recorded results that fit. Only tools without effects can execute. */
export class CounterfactualReplay implements PersistenceAnswers {
  /** Why the replay stopped. `undefined` if the replay ran to its end. */
  stopped: Divergence | undefined;
  /** The recorded requests whose replies the run has received. */
  readonly repeated = new WeakMap<InputRequestEvent, RecordedInput>();
  readonly #candidate: Candidate;
  readonly #pool: ResultPool;
  readonly #sha256: Sha256;
  readonly #positions: readonly LinePosition[];
  readonly #controller = new AbortController();
  readonly #stop = new ReplayStop();
  readonly #digests = new WeakMap<AgentRun, RequestDigest>();
  readonly #positionOf = new WeakMap<RunStart, LinePosition>();
  readonly #used = new Set<LinePosition>();
  /** The ids of calls that started without an approval. For these calls, the replay returns recorded outcomes. */
  readonly #reserved = new Map<string, RecordedToolCall>();

  constructor(
    candidate: Candidate,
    results: { readonly pool: ResultPool; readonly positions: readonly LinePosition[] },
    sha256: Sha256,
  ) {
    this.#candidate = candidate;
    this.#pool = results.pool;
    this.#positions = results.positions;
    this.#sha256 = sha256;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Returns the start of the main line. */
  starting(fresh: RunStart): RunStart {
    const main = this.#positions.find(({ place }) => place === undefined);
    if (!main) return withSystemPrompt(fresh, this.#candidate.systemPrompt);
    return this.#startAt(fresh, main, this.#candidate);
  }

  install(pipeline: FeaturePipeline, definitions: ReplayDefinitions): void {
    pipeline.onNodeStarting(({ run }) => {
      run.state.history.mark();
      run.state.storage.mark();
    });
    pipeline.aroundModelRequest((event, next) =>
      this.#candidate.model === "live" ? next(event) : this.#respond(event),
    );
    pipeline.aroundToolCall((event, next) => this.#call(event, next, definitions));
    pipeline.aroundInputRequest((event) => this.#answer(event));
    pipeline.aroundBranch(async (event, next) => {
      const begun = await next(event);
      return "result" in begun ? begun : this.#beginBranch(event, begun);
    });
    pipeline.aroundAgentCall(async (event, next) => {
      const begun = await next(event);
      return "output" in begun ? begun : this.#beginAgent(event, begun.start);
    });
  }

  move(context: AgentContext, actual: string | object | undefined): Promise<never> {
    return this.#end(context, { what: "path", actual: actual ?? "the latest checkpoint" });
  }

  save(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async #respond(event: ModelRequestEvent): Promise<PromptAnswer> {
    const { context } = event;
    const run = runOf(context);
    const digest = this.#digests.get(run) ?? new RequestDigest(this.#sha256);
    this.#digests.set(run, digest);
    const asked = digest.of(event, callOf(context) ? undefined : run.state.history);
    const recorded = this.#pool.response(placeIn(context), asked);
    if (!recorded) return this.#end(context, { what: "request", actual: { messages: event.messages } });
    const { message, usage, finishReason } = recorded;
    return withoutUndefined({ message, usage, finishReason });
  }

  async #call(event: ToolCallEvent, next: Next<ToolCallEvent>, definitions: ReplayDefinitions): Promise<unknown> {
    const { tool, input, toolCallId } = event;
    const agent = definitions.subAgent(tool);
    if (agent) return next({ ...event, tool: agent });
    const { tools = "recorded", onUnrecordedCall = "stop" } = this.#candidate;
    if (typeof tools === "function") return this.#simulate(event, tools);
    const recorded = this.#reserved.get(toolCallId) ?? this.#pool.call(placeIn(event.context), tool.name, input);
    if (recorded?.outcome) return repeatOutcome(event, toolCallId, recorded.outcome);
    if (typeof onUnrecordedCall === "function") return this.#simulate(event, onUnrecordedCall);
    if (onUnrecordedCall === "execute" && tool.effect === "none") return next(event);
    return this.#end(event.context, { what: "call", actual: { toolName: tool.name, input } });
  }

  async #simulate({ tool, toolCallId, input, context }: ToolCallEvent, simulate: CallSimulator): Promise<unknown> {
    try {
      return await simulate({ toolName: tool.name, input, ...withoutUndefined(placeIn(context)) });
    } catch (cause) {
      throw new ToolFailedError(tool.name, toolCallId, reasonOf(cause), { cause });
    }
  }

  async #answer(event: InputRequestEvent): Promise<unknown> {
    const { context, question, approval, timer, request } = event;
    if (timer && !timer.event) return undefined;
    const recorded = this.#pool.input(placeIn(context), question, approval !== undefined);
    if (recorded?.reply) {
      this.repeated.set(event, recorded);
      const { value, isRefused } = await repliedTo(event, recorded, recorded.reply);
      if (!isRefused) return value;
    } else if (approval && (await this.#mayStart(approval))) return unaskedApproval;
    return this.#end(context, { what: "input", actual: { prompt: request.prompt } });
  }

  /** Whether a call may start. A call without an approval may start only if the replay does not execute the call. */
  async #mayStart({ call, judge }: NonNullable<InputRequestEvent["approval"]>): Promise<boolean> {
    const { tools, onUnrecordedCall } = this.#candidate;
    if (typeof tools === "function") return true;
    const recorded = this.#pool.call(placeIn(call.context), call.tool.name, call.input);
    if (recorded) this.#reserved.set(call.toolCallId, recorded);
    if (recorded || typeof onUnrecordedCall === "function" || onUnrecordedCall !== "execute") return true;
    return subAgentOf(call.tool) !== undefined || (await judge?.()) === false;
  }

  #beginBranch({ run, key }: BranchEvent, { start }: Extract<BranchBeginning, { start: RunStart }>): BranchBeginning {
    const found = this.#nested(run, (place) => "branch" in place && place.branch === key);
    if (!found) return { start };
    return found.ended ? { result: found.ended } : { start: this.#startAt(start, found) };
  }

  #beginAgent({ run, toolCallId }: AgentCallEvent, start: RunStart): AgentCallBeginning {
    const found = this.#nested(run, (place) => "call" in place && place.call === toolCallId);
    if (!found) return { start };
    return found.ended ? { output: found.ended.output } : { start: this.#startAt(start, found) };
  }

  #startAt(start: RunStart, position: LinePosition, changes: Candidate = {}): RunStart {
    const begun = startAt(start, position, changes);
    this.#positionOf.set(begun, position);
    return begun;
  }

  /** Returns the start position of a nested line, once, if the enclosing line starts at the checkpoint. */
  #nested(run: AgentRun, isAt: (place: NonNullable<LinePosition["place"]>) => boolean): LinePosition | undefined {
    const { lane } = (run.start && this.#positionOf.get(run.start)) ?? run.line;
    const isNested = ({ place }: LinePosition) => place !== undefined && place.parent === lane && isAt(place);
    const found = this.#positions.find((each) => !this.#used.has(each) && isNested(each));
    if (found) this.#used.add(found);
    return found;
  }

  #end(context: AgentContext, found: FoundDifference): Promise<never> {
    this.stopped ??= { ...found, ...withoutUndefined(placeIn(context)), messages: [] };
    this.#controller.abort(this.#stop);
    return Promise.reject(this.#stop);
  }
}

function placeIn(context: AgentContext): ResultPlace {
  const { branch, agentPath } = runOf(context);
  return { nodeId: context.nodeId, branch, agentPath };
}

function startAt(
  fresh: RunStart,
  { line, visit: [visitBase, visitOrdinal], nodeId, input, unresolved, state, joined }: LinePosition,
  { llmModel, systemPrompt }: Pick<Candidate, "llmModel" | "systemPrompt">,
): RunStart {
  const { messages, storage, model, parameters, tools, iteration, decisions } = state;
  const known = withPrompt(messages, systemPrompt);
  const { numbers = { next: 1 } } = fresh.state;
  numbers.next = Math.max(numbers.next, known.length + 1);
  const settings = { model: llmModel ?? model ?? "", tools: tools ?? [], ...(parameters && { parameters }) };
  return {
    ...fresh,
    nodeId,
    input,
    ...(unresolved && { unresolved }),
    state: {
      messages: numbered(known),
      numbers,
      storage: new Map(storage),
      ...(model !== undefined && { settings }),
      iteration,
      decisions,
    },
    ...(joined && { joined }),
    line,
    visitBase,
    visitOrdinal,
  };
}

/** Returns a start with another system prompt, for a run that has taken over the previous history. */
function withSystemPrompt(fresh: RunStart, content: string | undefined): RunStart {
  const { messages } = fresh.state;
  if (!messages || content === undefined) return fresh;
  const known = withPrompt(
    messages.map(({ message }) => message),
    content,
  );
  return { ...fresh, state: { ...fresh.state, messages: numbered(known), numbers: { next: known.length + 1 } } };
}

function withPrompt(messages: readonly Message[], content: string | undefined): readonly Message[] {
  if (content === undefined) return messages;
  const rest = messages[0]?.role === "system" ? messages.slice(1) : messages;
  return [{ role: "system", content }, ...rest];
}
