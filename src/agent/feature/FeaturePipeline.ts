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

/** Does something before or after `next`, or returns a result without calling it. */
export type Around<Event, Result> = (event: Event, next: (event: Event) => Promise<Result>) => Promise<Result>;

/** Called when an event is emitted. The runtime awaits it; an error that it throws fails the run. */
export type Listener<Event> = (event: Event) => void | PromiseLike<void>;

/** Options and calls that need a feature: options of `run()`, `resume()` and `context.requestInput()`. */
export type ClaimableOption = "resume" | "runId" | "history" | "unfinished" | "whenBusy" | "requestInput";

/** Every interceptor by name, with its event and its result: `aroundRun` of {@link FeaturePipeline} wraps `run`. */
export interface PipelineInterceptors {
  /** May set where the run begins, return a recorded result, or end the run as waiting. */
  run: [event: RunRequest, result: RunResult<unknown>];
  /** A branch of a parallel node is about to run. May set where it begins, or return what it left when it ended. */
  branch: [event: BranchEvent, result: BranchBeginning];
  /** An agent is about to run for a tool call. May set where it begins, or return its output if it has ended before. */
  agentCall: [event: AgentCallEvent, result: AgentCallBeginning];
  /** The result is the output of the node, before its schema. */
  node: [event: NodeEvent, result: unknown];
  /** The message of the result carries the library's tool-call ids. */
  modelRequest: [event: ModelRequestEvent, result: PromptAnswer];
  /**
   * `next` runs the tool and resolves to its output. It rejects with ToolFailedError when the tool failed, with
   * ToolNotStartedError when the call was aborted before the tool began, and with the reason of the abort when it was
   * aborted later, in which case the tool may have had its effect. Any error of the interceptor other than
   * ToolFailedError fails the run.
   */
  toolCall: [event: ToolCallEvent, result: unknown];
  /**
   * The result is the answer, as the request's schema returns it. `next` never resolves: there is no answer yet. Once
   * nothing else in the node is pending, the run ends as `waiting`. The node gets an error that the interceptor throws.
   * With `approval` the answer is `{ approved, reason? }`: only one that approves lets the call begin.
   */
  inputRequest: [event: InputRequestEvent, result: unknown];
}

/** `onAgentStarting(listener)` and so on, one method for each of {@link PipelineEvents}. */
export type PipelineListeners = {
  readonly [Name in keyof PipelineEvents as `on${Capitalize<Name>}`]: (
    listener: Listener<PipelineEvents[Name]>,
  ) => void;
};

/** `aroundRun(wrap)` and so on, one method for each of {@link PipelineInterceptors}. */
export type PipelineWrappers = {
  readonly [Name in keyof PipelineInterceptors as `around${Capitalize<Name>}`]: (
    wrap: Around<PipelineInterceptors[Name][0], PipelineInterceptors[Name][1]>,
  ) => void;
};

/**
 * Where a feature registers its hooks; a hook that is no function is refused with InvalidInputError. Interceptors wrap each other in install order, the first installed outermost;
 * listeners are called in install order, one after the other.
 */
export interface FeaturePipeline extends PipelineListeners, PipelineWrappers {
  /** The agent's own id, used by runs that name none. */
  readonly agentId: string;
  /** True if the agent was given no id of its own. */
  readonly hasDefaultId: boolean;
  /** Differs for definitions whose strategies differ in name, or which differ in the names of their tools or in their system prompt. */
  readonly identity: string;
  readonly graph: StrategyGraph;
  /** The tools of the agent by name. */
  readonly tools: ReadonlyMap<string, AnyTool>;

  /** Declares that this feature implements these. Unclaimed ones are refused with FeatureNotInstalledError. */
  claim(...options: readonly ClaimableOption[]): void;

  /** Sets the grace period for work that ignores its abort signal. Default: 5 seconds of the system clock. */
  limitAborts(grace: AbortGrace): void;
}

/** The grace period of an aborted or moved visit. Afterwards the run no longer waits for work that ignores its signal. */
export interface AbortGrace {
  /** In milliseconds. */
  readonly ms: number;
  readonly clock: Clock;
}

/** Applies unless a feature sets another. */
export const defaultAbortGrace: AbortGrace = { ms: 5_000, clock: systemClock };

/** A feature that can be installed into an agent. Disposing the agent disposes an instance with `Symbol.asyncDispose`. */
export interface AgentFeature<in Config, out Instance> {
  /** Unique among the features of an agent. */
  readonly key: string;
  /** Registers hooks. Returns the instance that `agent.feature` and `context.feature` return. */
  install(pipeline: FeaturePipeline, config: Config): Instance;
}
