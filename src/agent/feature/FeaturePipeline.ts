import { type Clock, systemClock } from "../../internal/Clock.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { PromptAnswer } from "../model/PromptExecutor.ts";
import type { AnyTool } from "../tool/Tool.ts";
import type {
  AgentCallBeginning,
  AgentCallEvent,
  BranchBeginning,
  BranchEvent,
  InputRequestEvent,
  ModelRequestEvent,
  NodeEvent,
  PipelineEvents,
  ToolCallEvent,
} from "./PipelineEvents.ts";
import type { RunRequest } from "./RunRequest.ts";
import type { RunResult } from "./RunResult.ts";

/** Wraps an operation. Calls `next` to continue, or returns a result without calling `next`. */
export type Around<Event, Result> = (event: Event, next: (event: Event) => Promise<Result>) => Promise<Result>;

/** A listener of an event. The runtime awaits its result. If the listener throws, the run fails. */
export type Listener<Event> = (event: Event) => unknown;

/** The options of `run()` and `resume()` that a feature can implement, and `context.requestInput()`. */
export type ClaimableOption = "resume" | "runId" | "history" | "unfinished" | "whenBusy" | "requestInput";

/** The event and the result of each interceptor. `aroundRun` of {@link FeaturePipeline} wraps `run`. */
export interface PipelineInterceptors {
  /** Wraps a run. It can set the start position, return a recorded result, or end the run as waiting. */
  run: [event: RunRequest, result: RunResult<unknown>];
  /** Wraps the start of a branch of a parallel node. It can set the start position or return the recorded result. */
  branch: [event: BranchEvent, result: BranchBeginning];
  /** Wraps the start of a sub-agent. It can set the start position or return the recorded output. */
  agentCall: [event: AgentCallEvent, result: AgentCallBeginning];
  /** Wraps a node. The result is the output of the node, which the schema has not validated yet. */
  node: [event: NodeEvent, result: unknown];
  /** Wraps a model request. The message of the result carries the library's tool-call ids. */
  modelRequest: [event: ModelRequestEvent, result: PromptAnswer];
  /**
   * Wraps a tool call. `next` runs the tool and resolves to its output. `next` rejects with ToolFailedError if the tool
   * failed, and with ToolNotStartedError if the call was aborted before the tool started. If the call was aborted
   * later, `next` rejects with the abort reason, and the tool may have taken effect. Any other error of the interceptor
   * fails the run.
   */
  toolCall: [event: ToolCallEvent, result: unknown];
  /**
   * Wraps a request for input. The result is the answer, parsed by the schema of the request. `next` never resolves,
   * because the answer is missing. When all other work of the node has settled, the run ends as `waiting`. An error of
   * the interceptor is thrown in the node. If the event has an `approval`, the answer is `{ approved, reason? }`, and
   * the tool starts only if it is approved.
   */
  inputRequest: [event: InputRequestEvent, result: unknown];
}

/** One method for each of {@link PipelineEvents}, such as `onAgentStarting(listener)`. */
export type PipelineListeners = {
  readonly [Name in keyof PipelineEvents as `on${Capitalize<Name>}`]: (
    listener: Listener<PipelineEvents[Name]>,
  ) => void;
};

/** One method for each of {@link PipelineInterceptors}, such as `aroundRun(wrap)`. */
export type PipelineWrappers = {
  readonly [Name in keyof PipelineInterceptors as `around${Capitalize<Name>}`]: (
    wrap: Around<PipelineInterceptors[Name][0], PipelineInterceptors[Name][1]>,
  ) => void;
};

/**
 * Registers the hooks of a feature. Interceptors wrap each other in install order: the first is the outermost.
 * Listeners are called in install order, one at a time. A hook that is not a function is rejected with
 * InvalidInputError.
 */
export interface FeaturePipeline extends PipelineListeners, PipelineWrappers {
  /** Returns the number of listeners and interceptors with these names that the installed features have registered. */
  countHooks(...names: readonly (keyof PipelineEvents | keyof PipelineInterceptors)[]): number;
  /** The id of the agent, used by runs that specify none. */
  readonly agentId: string;
  readonly hasDefaultId: boolean;
  /** Differs between agents with different strategy names, tool names or system prompts. */
  readonly identity: string;
  readonly graph: StrategyGraph;
  readonly tools: ReadonlyMap<string, AnyTool>;
  /** The time limit in milliseconds of calls to tools without `timeoutMs`. `Infinity` for no limit. */
  readonly toolTimeoutMs: number;

  /** Declares the options that this feature implements. Other options are rejected with FeatureNotInstalledError. */
  claim(...options: readonly ClaimableOption[]): void;

  /** Sets the grace period for work that ignores its abort signal. Defaults to 5 seconds of the system clock. */
  limitAborts(grace: AbortGrace): void;
}

/** How long an aborted or moved run waits for work that ignores its signal. */
export interface AbortGrace {
  readonly ms: number;
  readonly clock: Clock;
}

export const defaultAbortGrace: AbortGrace = { ms: 5_000, clock: systemClock };

/** A feature for an agent. If its instance has `Symbol.asyncDispose`, disposing the agent disposes the instance. */
export interface AgentFeature<in Config, out Instance> {
  readonly key: string;
  /** Registers hooks and returns the instance that `agent.feature` and `context.feature` return. */
  install(pipeline: FeaturePipeline, config: Config): Instance;
}
