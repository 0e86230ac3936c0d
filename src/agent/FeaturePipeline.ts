import type { AssistantMessage } from "../checkpoint/Message.ts";
import type { AbortGrace } from "./AbortGrace.ts";
import type {
  InputRequestEvent,
  ModelRequestEvent,
  NodeEvent,
  PipelineEvents,
  ToolCallEvent,
} from "./PipelineEvents.ts";
import type { RunRequest } from "./RunRequest.ts";
import type { RunResult } from "./RunResult.ts";
import type { StrategyGraph } from "./StrategyGraph.ts";
import type { AnyTool } from "./Tool.ts";

/** Does something around `next`, or answers without it. */
export type Around<Event, Result> = (event: Event, next: (event: Event) => Promise<Result>) => Promise<Result>;

/** Told about an event; the runtime waits for it, and what it throws fails the run. */
export type Listener<Event> = (event: Event) => void | PromiseLike<void>;

/** What only works with a feature that takes care of it: options, `resume()` and `context.requestInput()`. */
export type ClaimableOption = "resume" | "runId" | "history" | "unfinished" | "requestInput";

/**
 * Where a feature hooks in. Interceptors wrap each other in install order, the first installed outermost; listeners are
 * called in install order, one after the other.
 */
export interface FeaturePipeline {
  /** The agent's own id, used by runs that name none. */
  readonly agentId: string;
  readonly graph: StrategyGraph;
  /** The tools of the agent by name. */
  readonly tools: ReadonlyMap<string, AnyTool>;

  /** Declares that this feature takes care of these; unclaimed they are refused with FeatureNotInstalledError. */
  claim(...options: readonly ClaimableOption[]): void;

  /** Sets how long an aborted or moved visit waits for what ignores its signal. Default: 5 seconds of the machine's clock. */
  limitAborts(grace: AbortGrace): void;

  /** May start elsewhere, answer with a recorded result, or end as waiting. */
  aroundRun(wrap: Around<RunRequest, RunResult<unknown>>): void;
  aroundNode(wrap: Around<NodeEvent, unknown>): void;
  /** The answer carries the library's tool-call ids. */
  aroundModelRequest(wrap: Around<ModelRequestEvent, AssistantMessage>): void;
  /**
   * `next` runs the tool and resolves to its output. It rejects with ToolFailedError when the tool failed, with
   * ToolNotStartedError when the call was aborted before the tool began, and with the reason of the abort when it was
   * aborted later, and so may or may not have had its effect. What the interceptor itself throws fails the run,
   * ToolFailedError aside.
   */
  aroundToolCall(wrap: Around<ToolCallEvent, unknown>): void;
  /**
   * Resolves to the answer, as the request's schema makes it. `next` finds none: it never resolves, and when nothing else
   * of the node goes on the run ends as waiting. What the interceptor throws is what the node gets.
   */
  aroundInputRequest(wrap: Around<InputRequestEvent, unknown>): void;

  onAgentStarting(listener: Listener<PipelineEvents["agentStarting"]>): void;
  onAgentCompleted(listener: Listener<PipelineEvents["agentCompleted"]>): void;
  onAgentFailed(listener: Listener<PipelineEvents["agentFailed"]>): void;
  onAgentWaiting(listener: Listener<PipelineEvents["agentWaiting"]>): void;
  onStrategyStarting(listener: Listener<PipelineEvents["strategyStarting"]>): void;
  onStrategyCompleted(listener: Listener<PipelineEvents["strategyCompleted"]>): void;
  onStrategyFailed(listener: Listener<PipelineEvents["strategyFailed"]>): void;
  onRunMoved(listener: Listener<PipelineEvents["runMoved"]>): void;
  onNodeStarting(listener: Listener<PipelineEvents["nodeStarting"]>): void;
  onNodeCompleted(listener: Listener<PipelineEvents["nodeCompleted"]>): void;
  onNodeFailed(listener: Listener<PipelineEvents["nodeFailed"]>): void;
  onSubgraphStarting(listener: Listener<PipelineEvents["subgraphStarting"]>): void;
  onSubgraphCompleted(listener: Listener<PipelineEvents["subgraphCompleted"]>): void;
  onSubgraphFailed(listener: Listener<PipelineEvents["subgraphFailed"]>): void;
  onModelRequestStarting(listener: Listener<PipelineEvents["modelRequestStarting"]>): void;
  onModelRequestCompleted(listener: Listener<PipelineEvents["modelRequestCompleted"]>): void;
  onModelRequestFailed(listener: Listener<PipelineEvents["modelRequestFailed"]>): void;
  onToolCallStarting(listener: Listener<PipelineEvents["toolCallStarting"]>): void;
  onToolCallCompleted(listener: Listener<PipelineEvents["toolCallCompleted"]>): void;
  onToolCallFailed(listener: Listener<PipelineEvents["toolCallFailed"]>): void;
}
