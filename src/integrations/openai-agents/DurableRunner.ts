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
import type { RunOptions } from "../../agent/feature/RunRequest.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { DurableAgent } from "../../persistence/DurableAgent.ts";
import type { UnfinishedOptions, UnfinishedRun } from "../../persistence/PersistenceFeature.ts";
import { HostedAgents, type HostedBody, type HostedConfig, type HostedResult } from "../hosted/HostedAgents.ts";
import { type HostedToolSettings, hostedToolSettingsSchema } from "../hosted/HostedTool.ts";
import { RecordedLoop } from "../hosted/RecordedLoop.ts";
import { inRun } from "./wrapped/currentRun.ts";
import { DurableRun } from "./wrapped/DurableRun.ts";
import { JoinedStream } from "./runner/JoinedStream.ts";
import { KnownTools } from "./wrapped/KnownTools.ts";
import { joinNestedRuns } from "./runner/nestedRuns.ts";
import { makeDurable, withoutRecords } from "./wrapped/runnerConfig.ts";
import { takingBack } from "./wrapped/StoredRunSession.ts";
import { interruptedState } from "./runner/interruptedState.ts";
import { assertSameSession, givenInput, type StoredInput, storedInput } from "./runner/runInput.ts";
import {
  type RunInput,
  runLoop,
  type RunRequest,
  type SdkOptions,
  streamLoop,
  withOriginalAgents,
} from "./runner/runLoop.ts";
import type { AnyAgent, AnyResult, AnyStream } from "./wrapped/AnyAgent.ts";

/** How agents of the OpenAI Agents SDK are made durable: `storage`, and what else `install(Persistence)` takes. */
export interface DurableRunnerOptions extends HostedConfig {
  /**
   * What a crash or a rollback has to know of the function tools, by their names. Default: calls are `irreversible`, and those
   * of agents that are tools are `none`: what such an agent does within has records of its own.
   */
  readonly tools?: Readonly<Record<string, HostedToolSettings>> | undefined;
  /** What the SDK's `new Runner(…)` takes. Default: nothing. */
  readonly config?: Partial<RunConfig> | undefined;
}

/** The durable part of the options of `run`. */
export interface DurableRunOptions extends Pick<RunOptions, "runId" | "unfinished" | "takeOver"> {
  /** The durable identity. */
  readonly agentId: string;
}

/** The durable part of the options of `resume`. */
export interface DurableResumeOptions extends Pick<RunOptions, "takeOver"> {
  /** The durable identity. */
  readonly agentId: string;
  /** Answers to open requests, by request id, given before anything runs. If one is refused, none is given. */
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
}

type Whole<Context, Given extends AnyAgent> = NonStreamRunOptions<Context, Given>;
type Streamed<Context, Given extends AnyAgent> = StreamRunOptions<Context, Given>;

const optionsSchema = z.looseObject({
  agentId: z.string({ error: "expected the id of the durable agent" }),
  stream: z.boolean().optional(),
});
const inputSchema = z.union([z.string(), z.array(z.looseObject({}))], {
  error: ({ input }) =>
    input instanceof RunState
      ? "expected the input of the run: a RunState is not stored. Call resume(agent, { agentId })"
      : "expected a text or a list of items",
});
const runnerSchema = z.looseObject({
  storage: z.looseObject({}),
  tools: z.record(z.string(), hostedToolSettingsSchema).optional(),
  config: z.looseObject({}).optional(),
});

interface Asked {
  readonly agent: AnyAgent;
  readonly options: SdkOptions;
  /** Of the run that is asked for; one of another input is only finished before it. Absent: any is asked for. */
  readonly input?: StoredInput;
}

type Body = HostedBody<AnyResult | AnyStream>;
type Work = (run: DurableRun, request: RunRequest) => Promise<AnyResult | AnyStream>;
type Begin = (signal: AbortSignal, body: Body) => Promise<HostedResult<AnyResult | AnyStream>>;

/**
 * Runs agents of the OpenAI Agents SDK durably. Each answer of a model and each call of a function tool is recorded, of the
 * agent, of those that it hands off to, and of those that are its tools. A run that was cut off runs again from its start: what
 * is recorded is given back, and nothing is called for it. Agents, tools and models are taken as they are, and not changed.
 */
export class DurableRunner {
  /** The runner of the SDK that runs the agents: listen to its events here. */
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
   * Runs an agent as the SDK's `run` does, durably. A run that is unfinished is continued if it had the same input; one that
   * has finished under the same `runId` is replayed, and nothing is called.
   *
   * @returns the result of the SDK. While calls need approvals it has `interruptions`, and `agent(agentId)` has the requests.
   * @throws UnfinishedRunError, AgentBusyError, ToolCallInDoubtError; what the SDK throws. The run stays resumable.
   */
  run<Given extends AnyAgent, Context = undefined>(
    agent: Given,
    input: string | AgentInputItem[],
    options: Streamed<Context, Given> & DurableRunOptions,
  ): Promise<StreamedRunResult<Context, Given>>;
  run<Given extends AnyAgent, Context = undefined>(
    agent: Given,
    input: string | AgentInputItem[],
    options: Whole<Context, Given> & DurableRunOptions,
  ): Promise<RunResult<Context, Given>>;
  async run(
    agent: AnyAgent,
    input: RunInput,
    options: SdkOptions & DurableRunOptions & { readonly stream?: boolean },
  ): Promise<AnyResult | AnyStream> {
    checkSchema(optionsSchema, options, "options of a run");
    checkSchema(inputSchema, input, "input of a run");
    const { agentId, runId, unfinished, takeOver, stream = false, ...sdk } = options;
    const own = { agentId, ...withoutUndefined({ runId, unfinished, takeOver }) };
    const stored = await storedInput(input, sdk.session);
    return this.#start({ agent, options: sdk, input: stored }, stream, (signal, body) =>
      this.#agents.run(stored, { ...own, signal }, body),
    );
  }

  /**
   * Continues a run that was cut off, that failed, or whose requests are answered; replays one that has finished. It takes the
   * options that `run` took, such as its session, and not its input, which is recorded.
   *
   * @throws as {@link run}; RunNotOpenError (`nothing_to_resume`) when there is no run; InvalidInputError for another session.
   */
  resume<Given extends AnyAgent, Context = undefined>(
    agent: Given,
    options: Streamed<Context, Given> & DurableResumeOptions,
  ): Promise<StreamedRunResult<Context, Given>>;
  resume<Given extends AnyAgent, Context = undefined>(
    agent: Given,
    options: Whole<Context, Given> & DurableResumeOptions,
  ): Promise<RunResult<Context, Given>>;
  async resume(
    agent: AnyAgent,
    options: SdkOptions & DurableResumeOptions & { readonly stream?: boolean },
  ): Promise<AnyResult | AnyStream> {
    checkSchema(optionsSchema, options, "options of a resume");
    const { agentId, answers, takeOver, stream = false, ...sdk } = options;
    const own = { agentId, ...withoutUndefined({ answers, takeOver }) };
    return this.#start({ agent, options: sdk }, stream, (signal, body) =>
      this.#agents.resume({ ...own, signal }, body),
    );
  }

  /** One durable agent, from outside a run: its requests, its checkpoints, rollback and all else. */
  agent(agentId: string): DurableAgent {
    return this.#agents.agent(agentId);
  }

  /** Lists the unfinished runs of the storage, as `persistence(agent).unfinished()` does: resume them after a restart. */
  unfinished(options?: UnfinishedOptions): AsyncGenerator<UnfinishedRun> {
    return this.#agents.feature.unfinished(options);
  }

  async #start(asked: Asked, stream: boolean, begin: Begin): Promise<AnyResult | AnyStream> {
    const { agent, options } = asked;
    // A resume that is refused leaves the run as it was: one that was aborted has not failed.
    const refusal = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, refusal.signal]) : refusal.signal;
    let current: DurableRun | undefined;
    if (stream) {
      const joined = new JoinedStream();
      const done = begin(
        signal,
        this.#body(asked, refusal, (run, request) => {
          current = run;
          return streamLoop(run, request, joined);
        }),
      );
      const state = done.then((result) =>
        result.status === "waiting" ? interruptedState(agent, options, result.requests, current?.approvals) : undefined,
      );
      return joined.begun(state);
    }
    let latest: AnyResult | undefined;
    const onRound = (round: AnyResult) => (latest = round);
    const result = await begin(
      signal,
      this.#body(asked, refusal, (run, request) => {
        current = run;
        return runLoop(run, request, onRound);
      }),
    );
    if (result.status === "completed") return result.value as AnyResult;
    if (latest && latest.interruptions.length > 0) return withOriginalAgents(latest);
    return new RunResult(interruptedState(agent, options, result.requests, current?.approvals));
  }

  #body({ agent, options, input: asked }: Asked, refusal: AbortController, work: Work): Body {
    return async (loop, found) => {
      const run = new DurableRun(loop, this.#tools, loop instanceof RecordedLoop);
      // It was checked when it was recorded.
      const stored = found as StoredInput;
      if (!run.isFinished) {
        await assertSameSession(stored, options.session).catch((error: unknown) => {
          refusal.abort(error);
          throw error;
        });
      }
      const input = givenInput(stored);
      const given = { ...options, signal: loop.signal };
      const request: RunRequest = { runner: this.runner, agent, input, options: given };
      const isAsked = asked === undefined || isSameValue(stored, asked);
      return inRun(run, undefined, () => (isAsked ? work(run, request) : runLoop(run, request)));
    };
  }
}
