import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import type { AgentRunner, AnyAgent, CallOptions } from "./AgentRunner.ts";
import type { BoundAgentOptions } from "./DurableAgentOptions.ts";
import type { StreamResult } from "./StreamLegs.ts";

/** An agent of the AI SDK, bound to one durable agent. */
export type BoundAgentOf<Agent extends AnyAgent> = Pick<Agent, "version" | "id" | "tools" | "generate" | "stream"> & {
  /**
   * Continues the unfinished run. A run that has finished is replayed: the same result, and nothing is called.
   *
   * @throws RunNotOpenError when there is no run, or it was cancelled; ToolCallInDoubtError and others as `run` of an AIAgent.
   */
  resume(options?: ResumeAgentOptions): ReturnType<Agent["generate"]>;
  /**
   * Like {@link resume}, as a stream: all of the run from its beginning, with the id that its message had.
   */
  resumeStream(options?: ResumeAgentOptions): ReturnType<Agent["stream"]>;
  /**
   * Returns the stream of the run in progress, in this process or in another one, from its beginning. Of a run that waits,
   * returns the stream up to the open requests. Resumes a run whose process has died, as {@link resumeStream} does: a client
   * that comes back after a restart need not wait for `resume`.
   *
   * @returns `undefined` when no run is in progress or waits.
   */
  attach(options?: ResumeAgentOptions): Promise<Awaited<ReturnType<Agent["stream"]>> | undefined>;
};

/** Options of `resume`, `resumeStream` and `attach`. */
export interface ResumeAgentOptions {
  /** Aborting it interrupts the run, or what follows it. */
  readonly abortSignal?: AbortSignal | undefined;
}

/** {@link BoundAgentOf}, without the types of the agent. */
export class BoundAgent {
  readonly version: unknown;
  readonly id: string | undefined;
  readonly tools: unknown;
  readonly #runner: AgentRunner;
  readonly #agentId: string;
  readonly #options: BoundAgentOptions;

  /** @throws InvalidAgentIdError */
  constructor(agent: AnyAgent, runner: AgentRunner, agentId: string, options: BoundAgentOptions) {
    assertAgentId(agentId);
    this.version = agent.version;
    this.id = agent.id;
    this.tools = agent.tools;
    this.#runner = runner;
    this.#agentId = agentId;
    this.#options = options;
  }

  generate(call: CallOptions): Promise<unknown> {
    return this.#runner.generate(this.#agentId, call, this.#options);
  }

  stream(call: CallOptions): Promise<StreamResult> {
    return this.#runner.stream(this.#agentId, call, this.#options);
  }

  resume({ abortSignal }: ResumeAgentOptions = {}): Promise<unknown> {
    return this.#runner.resume(this.#agentId, abortSignal);
  }

  resumeStream({ abortSignal }: ResumeAgentOptions = {}): Promise<StreamResult> {
    return this.#runner.resumeStream(this.#agentId, abortSignal);
  }

  attach({ abortSignal }: ResumeAgentOptions = {}): Promise<StreamResult | undefined> {
    return this.#runner.attach(this.#agentId, abortSignal);
  }
}
