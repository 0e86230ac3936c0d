import { z } from "zod";
import { whenBusySchema } from "../../agent/feature/RunRequest.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import type { PruneOptions, PruneReport } from "../../index.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { functionSchema, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import type { DurableAgent } from "../../persistence/DurableAgent.ts";
import type { UnfinishedOptions, UnfinishedRun } from "../../persistence/PersistenceFeature.ts";
import {
  HostedAgents,
  type HostedReplay,
  type HostedReplayOptions,
  hostedReplaySchema,
} from "../hosted/HostedAgents.ts";
import { AgentRunner, type AnyAgent, type CallOptions } from "./AgentRunner.ts";
import { type Durable, DurableDefinition } from "./Durable.ts";
import type { BoundAgentOptions, DurableAgentOptions } from "./DurableAgentOptions.ts";

/** Durable agents that share one definition. */
export interface DurableAgents<Agent extends AnyAgent> {
  /** Returns an AI SDK agent that runs as this durable agent. @throws InvalidAgentIdError, InvalidInputError */
  for(agentId: string, options?: BoundAgentOptions): BoundAgentOf<Agent>;
  /** Returns the durable agent for work outside of runs: answers, rollbacks, checkpoints, forks and `cancel`. */
  agent(agentId: string): DurableAgent;
  /**
   * Runs the agent on the records of a stored run: the recorded responses of models, outcomes of tools, and approvals.
   * Calls no wrapped model or tool, and writes nothing. Prompts are not recorded, so a changed prompt is no difference.
   *
   * @throws RunNotFoundError, RecordingPrunedError, InvalidAgentIdError, InvalidInputError
   */
  replay(agentId: string, options?: HostedReplayOptions): Promise<HostedReplay<Awaited<ReturnType<Agent["generate"]>>>>;
  /** Yields the unfinished runs that no process executes. Resume these runs after a restart. */
  unfinished(options?: UnfinishedOptions): AsyncGenerator<UnfinishedRun>;
  /** Deletes the data that the retention policy does not keep. @throws PruningNotSupportedError */
  prune(options?: PruneOptions): Promise<PruneReport>;
  /**
   * Deletes an agent and all its data.
   *
   * @throws AgentBusyError while the agent runs
   * @throws PruningNotSupportedError
   */
  deleteAgent(agentId: string): Promise<void>;
}

const boundOptionsSchema = strictOptions(() => ({
  runId: nonEmptyString.optional(),
  unfinished: z.enum(["finish_first", "abandon"]).optional(),
  whenBusy: whenBusySchema.optional(),
}));

/**
 * Makes agents of the AI SDK 6 or 7 durable. After a crash, a run reuses its recorded responses and calls.
 *
 * @example
 * ```ts
 * const desk = durableAgent({ storage }, (durable) => new ToolLoopAgent({
 *   model: durable.model(model),
 *   tools: durable.tools({ refund }, { refund: { effect: "idempotent" } }),
 * }));
 * const result = await desk.for("order-7").generate({ prompt: "Refund order 7." });
 * // After a restart:
 * for await (const { agentId } of desk.unfinished()) await desk.for(agentId).resume();
 * ```
 *
 * @param options the storage and the options of `install(Persistence)`
 * @param define creates the agent from models and tools that `durable` wraps. Called at the start and for each run.
 * @throws InvalidInputError for a wrong or unknown option, if `define` returns no agent, or if a tool of the agent with
 * `execute` is not one of `durable.tools()`
 */
export function durableAgent<Agent extends AnyAgent>(
  options: DurableAgentOptions,
  define: (durable: Durable) => Agent,
): DurableAgents<Agent> {
  checkSchema(functionSchema(), define, "definition of a durable agent");
  const template = new DurableDefinition(undefined, options.redact);
  const agent = define(template.handle);
  if (typeof (Object(agent) as Partial<AnyAgent>).generate !== "function")
    throw new InvalidInputError("definition of a durable agent", [
      { path: "", expected: "expected a function that returns an agent of the AI SDK, with generate() and stream()" },
    ]);
  assertRecorded(template, agent);
  const hosted = new HostedAgents(agent.id ?? "ai-sdk", options, template.hostedTools);
  const runner = new AgentRunner(hosted, define, options.redact);
  const { feature } = hosted;
  return {
    for(agentId, bound = {}) {
      checkSchema(boundOptionsSchema, bound, "options of for()");
      assertAgentId(agentId);
      const { version, id, tools } = agent;
      const boundAgent = {
        version,
        id,
        tools,
        generate: (call: CallOptions) => runner.generate(agentId, call, bound),
        stream: (call: CallOptions) => runner.stream(agentId, call, bound),
        resume: ({ abortSignal }: ResumeAgentOptions = {}) => runner.resume(agentId, abortSignal),
        resumeStream: ({ abortSignal }: ResumeAgentOptions = {}) => runner.resumeStream(agentId, abortSignal),
        attach: ({ abortSignal }: ResumeAgentOptions = {}) => runner.attach(agentId, abortSignal),
      };
      return boundAgent as unknown as BoundAgentOf<Agent>;
    },
    agent: (agentId) => hosted.agent(agentId),
    async replay(agentId, given = {}) {
      checkSchema(hostedReplaySchema, given, "options of replay()");
      return (await runner.replay(agentId, given)) as Awaited<ReturnType<DurableAgents<Agent>["replay"]>>;
    },
    unfinished: (unfinished) => feature.unfinished(unfinished),
    prune: (prune) => feature.prune(prune),
    deleteAgent: (agentId) => feature.deleteAgent(agentId),
  };
}

/** Throws if a model or tool of the agent is not wrapped, because its calls would be repeated after a crash. */
function assertRecorded(template: DurableDefinition, agent: AnyAgent): void {
  const issues = template.unrecorded(Object(agent.tools) as object).map((name) => ({
    path: `tools.${name}`,
    expected: "expected a tool of durable.tools(), because other calls are not recorded and would be repeated",
  }));
  if (!template.hasModel && needsModel(agent))
    issues.push({
      path: "model",
      expected: "expected a model of durable.model(), because other responses are not recorded and would be repeated",
    });
  if (issues.length > 0) throw new InvalidInputError("definition of a durable agent", issues);
}

/** Whether the definition of an agent has a model, and no callback that can replace the model during a run. */
function needsModel(agent: object): boolean {
  const { settings } = agent as { readonly settings?: unknown };
  const { model, prepareCall, prepareStep } = Object(settings) as Readonly<Record<string, unknown>>;
  return model !== undefined && prepareCall === undefined && prepareStep === undefined;
}

/** An agent of the AI SDK, bound to one durable agent. */
export type BoundAgentOf<Agent extends AnyAgent> = Pick<Agent, "version" | "id" | "tools" | "generate" | "stream"> & {
  /**
   * Continues the unfinished run. For a finished run, returns the same result again, without calling models or tools.
   *
   * @throws RunNotOpenError if the agent has no run or its run was cancelled
   * @throws ToolCallInDoubtError and the other errors of `AIAgent.run`
   */
  resume(options?: ResumeAgentOptions): ReturnType<Agent["generate"]>;
  /** Streams like {@link resume}, from the start of the run. The UI message keeps the id of the first stream. */
  resumeStream(options?: ResumeAgentOptions): ReturnType<Agent["stream"]>;
  /**
   * Returns the stream of the run in progress from its start, even if another process executes the run. The stream of a
   * waiting run ends at its open requests. If the process of the run has died, resumes the run like
   * {@link resumeStream}. So clients can reconnect after a restart, even before your server calls `resume`.
   *
   * @returns `undefined` if no run is in progress or waiting
   */
  attach(options?: ResumeAgentOptions): Promise<Awaited<ReturnType<Agent["stream"]>> | undefined>;
};

/** Options of `resume`, `resumeStream` and `attach`. */
export interface ResumeAgentOptions {
  /** Interrupts the run, or the attached stream, when aborted. */
  readonly abortSignal?: AbortSignal | undefined;
}
