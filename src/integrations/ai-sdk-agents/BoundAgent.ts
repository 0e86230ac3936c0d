import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import type { AgentRunner, AnyAgent, CallOptions } from "./AgentRunner.ts";
import type { BoundAgentOptions } from "./DurableAgentOptions.ts";
import type { StreamResult } from "./StreamLegs.ts";

/** An agent of the AI SDK, bound to one durable agent. */
export type BoundAgentOf<Agent extends AnyAgent> = Pick<Agent, "version" | "id" | "tools" | "generate" | "stream"> & {
  /**
   * Continues the unfinished run. Replays a finished run: returns the same result without calling models or tools.
   *
   * @throws RunNotOpenError if the agent has no run or its run was cancelled
   * @throws ToolCallInDoubtError and the other errors of `AIAgent.run`
   */
  resume(options?: ResumeAgentOptions): ReturnType<Agent["generate"]>;
  /**
   * Streams like {@link resume}. The stream starts at the beginning of the run, and its message keeps the id of the
   * first stream.
   */
  resumeStream(options?: ResumeAgentOptions): ReturnType<Agent["stream"]>;
  /**
   * Returns the stream of the run in progress from its beginning, even if another process executes the run. The stream
   * of a waiting run ends at its open requests. If the process of the run has died, this method resumes the run, as
   * {@link resumeStream} does. Clients can therefore reconnect after a restart before your server calls `resume`.
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

/** Implements {@link BoundAgentOf} without the types of the agent. */
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
