import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
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
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { AnyTool } from "../tool/Tool.ts";

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

  /**
   * A run begins or is resumed, and nothing of it has run here. Not told when a feature answers with a recorded result.
   */
  onAgentStarting(listener: Listener<PipelineEvents["agentStarting"]>): void;
  /** The run has its output; told before `run` or `resume` resolves. */
  onAgentCompleted(listener: Listener<PipelineEvents["agentCompleted"]>): void;
  /**
   * The run rejects with this error, also when it was aborted. What a listener throws is dropped: the run has failed
   * already.
   */
  onAgentFailed(listener: Listener<PipelineEvents["agentFailed"]>): void;
  /** The run ends here, waiting: nothing goes on but these requests. Their node runs again when it is resumed. */
  onAgentWaiting(listener: Listener<PipelineEvents["agentWaiting"]>): void;
  /** The first position is known and its node has not run; also when the run begins elsewhere than at the start. */
  onStrategyStarting(listener: Listener<PipelineEvents["strategyStarting"]>): void;
  /** The strategy has come to its finish. */
  onStrategyCompleted(listener: Listener<PipelineEvents["strategyCompleted"]>): void;
  /**
   * The strategy ended with this error; its node and its subgraphs were told before. What a listener throws is dropped:
   * the run has failed already.
   */
  onStrategyFailed(listener: Listener<PipelineEvents["strategyFailed"]>): void;
  /** A move has put the run elsewhere, and the node there has not run. */
  onRunMoved(listener: Listener<PipelineEvents["runMoved"]>): void;
  /** A visit of a node begins; told before the interceptors of `aroundNode`. */
  onNodeStarting(listener: Listener<PipelineEvents["nodeStarting"]>): void;
  /**
   * A node has ended and its edges say what is next, which does not start before every listener is done. A node that
   * moved the run is not told of.
   */
  onNodeCompleted(listener: Listener<PipelineEvents["nodeCompleted"]>): void;
  /**
   * A node failed, or it ended and its edges threw or none matched (`unresolved`). What a listener throws is dropped: the
   * run has failed already.
   */
  onNodeFailed(listener: Listener<PipelineEvents["nodeFailed"]>): void;
  /** The run enters a subgraph. Not told of those around the node where a run begins elsewhere than at the start. */
  onSubgraphStarting(listener: Listener<PipelineEvents["subgraphStarting"]>): void;
  /** The run leaves a subgraph, with this output. */
  onSubgraphCompleted(listener: Listener<PipelineEvents["subgraphCompleted"]>): void;
  /**
   * The run failed inside a subgraph; told of each one around the node, innermost first. What a listener throws is
   * dropped: the run has failed already.
   */
  onSubgraphFailed(listener: Listener<PipelineEvents["subgraphFailed"]>): void;
  /**
   * The model is about to be asked; told before the interceptors, also of a request that one of them answers from the
   * record.
   */
  onModelRequestStarting(listener: Listener<PipelineEvents["modelRequestStarting"]>): void;
  /** The answer is there, recorded ones included; it carries the library's tool-call ids. */
  onModelRequestCompleted(listener: Listener<PipelineEvents["modelRequestCompleted"]>): void;
  /** A request has rejected. What the model failed with the node may catch. */
  onModelRequestFailed(listener: Listener<PipelineEvents["modelRequestFailed"]>): void;
  /**
   * A tool is about to be called with an input that its schema accepts; told before the interceptors, also of a call that
   * one of them answers from the record.
   */
  onToolCallStarting(listener: Listener<PipelineEvents["toolCallStarting"]>): void;
  /** The output is there, recorded ones included. */
  onToolCallCompleted(listener: Listener<PipelineEvents["toolCallCompleted"]>): void;
  /** A call has failed or was cut short. What the tool failed with the caller may catch. */
  onToolCallFailed(listener: Listener<PipelineEvents["toolCallFailed"]>): void;
}
