import {
  type AgentInputItem,
  type NonStreamRunOptions,
  type RunConfig,
  Runner,
  RunResult,
  RunState,
  type StreamedRunResult,
  type StreamRunOptions,
} from "@openai/agents-core";
import { z } from "zod";
import type { RunOptions, WhenBusy } from "../../agent/feature/RunRequest.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { DurableAgent } from "../../persistence/DurableAgent.ts";
import type { UnfinishedOptions, UnfinishedRun } from "../../persistence/PersistenceFeature.ts";
import {
  HostedAgents,
  type HostedBody,
  type HostedConfig,
  type HostedResult,
  hostedShape,
  type HostedReplay,
  type HostedReplayOptions,
} from "../hosted/HostedAgents.ts";
import { type HostedToolSettings, hostedToolSettingsSchema } from "../hosted/HostedTool.ts";
import { RecordedLoop } from "../hosted/RecordedLoop.ts";
import { DurableRun, inRun } from "./wrapped/DurableRun.ts";
import { JoinedStream, isStopped, StreamCancelled } from "./runner/JoinedStream.ts";
import { KnownTools } from "./wrapped/KnownTools.ts";
import {
  joinNestedRuns,
  assertSameSession,
  givenInput,
  type StoredInput,
  storedInput,
  type RunInput,
  runLoop,
  type LoopRequest,
  type SdkOptions,
  optionsOfState,
} from "./runner/runLoop.ts";
import { makeDurable, withoutRecords } from "./wrapped/runnerConfig.ts";
import { takingBack } from "./wrapped/sessionInRun.ts";
import { type Attempt, waitingState, decisionsIn, laterDecisionsIn } from "./runner/decisionsIn.ts";
import type { AnySdkAgent, AnyResult, AnyState, AnyStream } from "./wrapped/AnyAgent.ts";

/** Options of a `DurableRunner`: the storage and the options of `install(Persistence)`. */
export interface DurableRunnerOptions extends HostedConfig {
  /**
   * The crash recovery and rollback settings of function tools, by name. The effect defaults to `irreversible`, and to
   * `none` for agents used as tools, because their steps are recorded.
   */
  readonly tools?: Readonly<Record<string, HostedToolSettings>> | undefined;
  /** The options of the SDK's `new Runner(…)`. Defaults to an empty object. */
  readonly config?: Partial<RunConfig> | undefined;
}

/** The durable options of `run`. */
export interface DurableRunnerRunOptions extends Pick<RunOptions, "runId" | "unfinished" | "takeOver"> {
  /** The id of the durable agent. */
  readonly agentId: string;
  /**
   * Handles a run that is in progress, as for `AIAgent.run`. With `"join"`, the call ignores its input and returns the
   * result of that run. A stream starts only when that run has ended. Defaults to `"reject"`.
   */
  readonly whenBusy?: WhenBusy | undefined;
}

/** The durable options of `resume`. */
export interface DurableResumeOptions extends Pick<RunOptions, "takeOver"> {
  /** The id of the durable agent. */
  readonly agentId: string;
  /** Answers by request id, recorded before the run continues. If one is invalid, none is recorded. */
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
}

type Whole<Context, Given extends AnySdkAgent> = NonStreamRunOptions<Context, Given>;
type Streamed<Context, Given extends AnySdkAgent> = StreamRunOptions<Context, Given>;

const optionsSchema = z.looseObject({
  agentId: z.string({ error: "expected the id of the durable agent" }),
  stream: z.boolean().optional(),
});
const inputSchema = z.union([z.string(), z.array(z.looseObject({}))], {
  error: "expected a text, a list of items or a RunState",
});
const runnerSchema = strictOptions(() => ({
  ...hostedShape,
  tools: z.record(z.string(), hostedToolSettingsSchema).optional(),
  config: z.looseObject({}).optional(),
}));

interface Asked {
  readonly agent: AnySdkAgent;
  readonly options: SdkOptions;
  /** The requested input. `undefined` accepts a run with any input. Results of other runs are not returned. */
  readonly input?: StoredInput;
  /** The requested run id. `undefined` accepts a run with any id. Results of other runs are not returned. */
  readonly runId?: string | undefined;
  /** The state whose decisions answer requests, even later requests. */
  readonly state?: AnyState;
  /** Whether the run is only compared with its records, so that no tool may run. */
  readonly executesNothing?: boolean;
}

type Result = HostedResult<AnyResult | AnyStream>;
type Body = HostedBody<AnyResult | AnyStream>;
type Work = (run: DurableRun, request: LoopRequest) => Promise<AnyResult | AnyStream>;
type Answers = DurableResumeOptions["answers"];
/** Runs a body. `later` contains answers to requests that an earlier call of this function left open. */
type Begin = (signal: AbortSignal, body: Body, later?: Answers) => Promise<Result>;

/**
 * Runs agents of the OpenAI Agents SDK durably. Records each model response and each call of a function tool, also in
 * handoff targets and in agents used as tools. After a crash, the loop of the SDK runs again from its start and replays
 * the recorded responses and results. Agents, tools and models are not modified.
 *
 * @example
 * ```ts
 * const runner = new DurableRunner({ storage, tools: { refund: { effect: "idempotent" } } });
 * const result = await runner.run(desk, "Refund order 8.", { agentId: "order-8" });
 * if (result.interruptions.length > 0) {
 *   for (const { requestId } of await runner.agent("order-8").getRequests())
 *     await runner.agent("order-8").answer(requestId, { approved: true });
 *   const { finalOutput } = await runner.resume(desk, { agentId: "order-8" });
 * }
 * ```
 */
export class DurableRunner {
  /** The runner of the SDK that this class uses. Listen to the events of the SDK here. */
  readonly runner: Runner;
  readonly #agents: HostedAgents;
  readonly #tools: KnownTools;

  /** @throws InvalidInputError */
  constructor(options: DurableRunnerOptions) {
    checkSchema(runnerSchema, options, "options of a DurableRunner");
    const { tools = {}, config = {}, ...hosted } = options;
    this.#tools = new KnownTools(tools);
    this.#agents = new HostedAgents("openai-agents", hosted, [...this.#tools.all, takingBack]);
    this.runner = new Runner(withoutRecords(config));
    makeDurable(this.runner);
    joinNestedRuns();
  }

  /**
   * Runs an agent like the SDK's `run`, but durably. Continues an unfinished run with the same input. A finished run
   * with the same `runId` returns its result again, without calling models or tools.
   *
   * Pass a `RunState` to resume its run. The decisions that you made with `approve` and `reject` of the state answer
   * the open requests. The items of the state are not used, and `runId` and `unfinished` do not apply.
   *
   * @returns the result of the SDK. It has `interruptions` if tool calls wait for approval.
   * @throws UnfinishedRunError, AgentBusyError, ToolCallInDoubtError, or an error of the SDK. The run stays resumable.
   */
  run<Given extends AnySdkAgent, Context = undefined>(
    agent: Given,
    input: string | AgentInputItem[] | RunState<Context, Given>,
    options: Streamed<Context, Given> & DurableRunnerRunOptions,
  ): Promise<StreamedRunResult<Context, Given>>;
  run<Given extends AnySdkAgent, Context = undefined>(
    agent: Given,
    input: string | AgentInputItem[] | RunState<Context, Given>,
    options: Whole<Context, Given> & DurableRunnerRunOptions,
  ): Promise<RunResult<Context, Given>>;
  async run(
    agent: AnySdkAgent,
    input: RunInput | AnyState,
    options: SdkOptions & DurableRunnerRunOptions & { readonly stream?: boolean },
  ): Promise<AnyResult | AnyStream> {
    checkSchema(optionsSchema, options, "options of a run");
    if (input instanceof RunState) return this.#continue(agent, input, options);
    checkSchema(inputSchema, input, "input of a run");
    const { agentId, runId, unfinished, whenBusy, takeOver, stream = false, ...sdk } = options;
    const own = { agentId, ...withoutUndefined({ runId, unfinished, whenBusy, takeOver }) };
    const stored = await storedInput(input, sdk.session);
    const asked = whenBusy === "join" ? {} : { input: stored, runId };
    return this.#start({ agent, options: sdk, ...asked }, stream, (signal, body) =>
      this.#agents.run(stored, { ...own, signal }, body),
    );
  }

  /**
   * Continues a run that was interrupted, has failed, or has answered requests. Returns the result of a finished run
   * again. Pass the same options as to `run`, such as the session, but no input, which is recorded.
   *
   * @throws the errors of {@link run}
   * @throws RunNotOpenError (`nothing_to_resume`) if the agent has no run
   * @throws InvalidInputError for another session
   */
  resume<Given extends AnySdkAgent, Context = undefined>(
    agent: Given,
    options: Streamed<Context, Given> & DurableResumeOptions,
  ): Promise<StreamedRunResult<Context, Given>>;
  resume<Given extends AnySdkAgent, Context = undefined>(
    agent: Given,
    options: Whole<Context, Given> & DurableResumeOptions,
  ): Promise<RunResult<Context, Given>>;
  async resume(
    agent: AnySdkAgent,
    options: SdkOptions & DurableResumeOptions & { readonly stream?: boolean },
  ): Promise<AnyResult | AnyStream> {
    checkSchema(optionsSchema, options, "options of a resume");
    return this.#resume(agent, options);
  }

  /**
   * Runs an agent on the records of a stored run: the recorded responses of models, outcomes of function tools, and
   * approvals. Calls no model of the loop and no function tool, changes no session, and writes nothing. Prompts are not
   * recorded, so changed instructions are no difference. Guardrails run again, including their model requests.
   *
   * @param options the options of the SDK for the run, and `runId`, which defaults to the newest run
   * @throws RunNotFoundError, RecordingPrunedError
   * @throws InvalidInputError also for an agent with computer, shell or patch tools, whose calls are not recorded
   */
  async replay<Given extends AnySdkAgent, Context = undefined>(
    agent: Given,
    options: Whole<Context, Given> & { readonly agentId: string } & Pick<HostedReplayOptions, "runId">,
  ): Promise<HostedReplay<RunResult<Context, Given>>> {
    checkSchema(optionsSchema, options, "options of a replay");
    const { agentId, runId, ...sdk } = options as SdkOptions & { readonly agentId: string; readonly runId?: string };
    let refusal: Error | undefined;
    const work: Work = (run, request) => runLoop(run, request).finally(() => (refusal = run.refusal));
    const body = this.#body({ agent, options: sdk, executesNothing: true }, new AbortController(), work);
    const replayed = await this.#agents.compare(agentId, { runId, signal: sdk.signal }, body);
    if (refusal) throw refusal;
    return replayed as HostedReplay<RunResult<Context, Given>>;
  }

  /** Returns the durable agent for work outside of runs: requests, checkpoints, rollbacks and more. */
  agent(agentId: string): DurableAgent {
    return this.#agents.agent(agentId);
  }

  /** Lists the unfinished runs of the storage, like `persistence(agent).unfinished()`, to resume after a restart. */
  unfinished(options?: UnfinishedOptions): AsyncGenerator<UnfinishedRun> {
    return this.#agents.feature.unfinished(options);
  }

  async #continue(
    agent: AnySdkAgent,
    state: AnyState,
    options: SdkOptions & DurableRunnerRunOptions,
  ): Promise<AnyResult | AnyStream> {
    const { runId: _runId, unfinished: _unfinished, ...rest } = options;
    const requests = await this.agent(options.agentId).getRequests();
    const answers = decisionsIn(state, await this.#agents.records(options.agentId), requests);
    return this.#resume(agent, { ...optionsOfState(state), ...withoutUndefined(rest), answers } as never, state);
  }

  #resume(
    agent: AnySdkAgent,
    options: SdkOptions & DurableResumeOptions & { readonly stream?: boolean },
    state?: AnyState,
  ): Promise<AnyResult | AnyStream> {
    const { agentId, answers, takeOver, stream = false, ...sdk } = options;
    const own = { agentId, ...withoutUndefined({ takeOver }) };
    const asked = { agent, options: sdk, ...(state && { state }) };
    return this.#start(asked, stream, (signal, body, later = answers) =>
      this.#agents.resume({ ...own, ...withoutUndefined({ answers: later }), signal }, body),
    );
  }

  async #start(asked: Asked, stream: boolean, begin: Begin): Promise<AnyResult | AnyStream> {
    const { options } = asked;
    // Aborts the run if a resume is rejected, because a failure would change the state of the run.
    const refusal = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, refusal.signal]) : refusal.signal;
    const attempt: Attempt = {};
    const onStop = (stopped: Attempt["stopped"]) => (attempt.stopped = stopped);
    const settled = async (work: Work) => {
      const body = this.#body(asked, refusal, (run, request) => {
        attempt.run = run;
        attempt.stopped = undefined;
        return work(run, request);
      });
      return decided(asked, attempt, (later) => begin(signal, body, later));
    };
    if (stream) {
      const joined = new JoinedStream(options.signal);
      const done = settled(async (run, request) => {
        joined.restart(run.loop.runId);
        const streamed = await runLoop<AnyStream>(run, request, { joined, onStop });
        if (isStopped(streamed)) refusal.abort(new StreamCancelled());
        refusal.signal.throwIfAborted();
        return streamed;
      });
      return joined.begun(
        done.then((result) =>
          result.status === "waiting" ? waitingState(asked, result.requests, attempt) : undefined,
        ),
      );
    }
    const result = await settled((run, request) => runLoop(run, request, { onStop }));
    if (result.status === "completed") return result.value as AnyResult;
    return new RunResult(waitingState(asked, result.requests, attempt));
  }

  #body(
    { agent, options, input: asked, runId, executesNothing = false }: Asked,
    refusal: AbortController,
    work: Work,
  ): Body {
    return async (loop, found) => {
      const isReopened = async (): Promise<boolean> => {
        await loop.durable();
        return (await this.#agents.records(loop.agentId, loop.runId)).lines.length > 1;
      };
      const run = new DurableRun(loop, this.#tools, loop instanceof RecordedLoop, executesNothing, isReopened);
      const stored = found as StoredInput;
      if (!run.isFinished) {
        await assertSameSession(stored, options.session).catch((error: unknown) => {
          refusal.abort(error);
          throw error;
        });
      }
      const input = givenInput(stored);
      const given = { ...options, signal: loop.signal };
      const request: LoopRequest = { runner: this.runner, agent, input, options: given };
      const isAsked = (runId ?? loop.runId) === loop.runId && (asked === undefined || isSameValue(stored, asked));
      return inRun(run, undefined, () => (isAsked ? work(run, request) : runLoop(run, request)));
    };
  }
}

/** Starts a run. While the `RunState` decides the requests that the run waits for, continues the run. */
async function decided(
  { state }: Asked,
  attempt: Attempt,
  begin: (later?: Answers) => Promise<Result>,
): Promise<Result> {
  let result = await begin();
  while (state && attempt.run && result.status === "waiting") {
    const later = laterDecisionsIn(state, result.requests, attempt.run.approvals);
    if (Object.keys(later).length === 0) break;
    result = await begin(later);
  }
  return result;
}
