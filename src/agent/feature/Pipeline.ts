import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { defaultAbortGrace, type AbortGrace } from "./AbortGrace.ts";
import type { Around, ClaimableOption, FeaturePipeline, Listener } from "./FeaturePipeline.ts";
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

type Next<Event, Result> = (event: Event) => Promise<Result>;

/** The hooks that the features of one agent registered. Shared by all of its runs, which only read it. */
export class Pipeline implements FeaturePipeline {
  readonly agentId: string;
  readonly graph: StrategyGraph;
  readonly tools: ReadonlyMap<string, AnyTool>;
  #abortGrace = defaultAbortGrace;
  readonly #claimed = new Set<ClaimableOption>();
  readonly #listeners = new Map<keyof PipelineEvents, Listener<never>[]>();
  readonly #aroundRun: Around<RunRequest, RunResult<unknown>>[] = [];
  readonly #aroundNode: Around<NodeEvent, unknown>[] = [];
  readonly #aroundModelRequest: Around<ModelRequestEvent, AssistantMessage>[] = [];
  readonly #aroundToolCall: Around<ToolCallEvent, unknown>[] = [];
  readonly #aroundInputRequest: Around<InputRequestEvent, unknown>[] = [];

  constructor(facts: Pick<FeaturePipeline, "agentId" | "graph" | "tools">) {
    this.agentId = facts.agentId;
    this.graph = facts.graph;
    this.tools = facts.tools;
  }

  claim(...options: readonly ClaimableOption[]): void {
    for (const option of options) this.#claimed.add(option);
  }

  claims(option: ClaimableOption): boolean {
    return this.#claimed.has(option);
  }

  limitAborts(grace: AbortGrace): void {
    this.#abortGrace = grace;
  }

  get abortGrace(): AbortGrace {
    return this.#abortGrace;
  }

  aroundRun(wrap: Around<RunRequest, RunResult<unknown>>): void {
    this.#aroundRun.push(wrap);
  }
  aroundNode(wrap: Around<NodeEvent, unknown>): void {
    this.#aroundNode.push(wrap);
  }
  aroundModelRequest(wrap: Around<ModelRequestEvent, AssistantMessage>): void {
    this.#aroundModelRequest.push(wrap);
  }
  aroundToolCall(wrap: Around<ToolCallEvent, unknown>): void {
    this.#aroundToolCall.push(wrap);
  }
  aroundInputRequest(wrap: Around<InputRequestEvent, unknown>): void {
    this.#aroundInputRequest.push(wrap);
  }

  run(request: RunRequest, innermost: Next<RunRequest, RunResult<unknown>>): Promise<RunResult<unknown>> {
    return wrapped(this.#aroundRun, innermost)(request);
  }
  node(event: NodeEvent, innermost: Next<NodeEvent, unknown>): Promise<unknown> {
    return wrapped(this.#aroundNode, innermost)(event);
  }
  modelRequest(
    event: ModelRequestEvent,
    innermost: Next<ModelRequestEvent, AssistantMessage>,
  ): Promise<AssistantMessage> {
    return wrapped(this.#aroundModelRequest, innermost)(event);
  }
  toolCall(event: ToolCallEvent, innermost: Next<ToolCallEvent, unknown>): Promise<unknown> {
    return wrapped(this.#aroundToolCall, innermost)(event);
  }
  inputRequest(event: InputRequestEvent, innermost: Next<InputRequestEvent, unknown>): Promise<unknown> {
    return wrapped(this.#aroundInputRequest, innermost)(event);
  }

  /** Tells the listeners of an event, one after the other; rejects with what one of them throws. */
  async emit<Name extends keyof PipelineEvents>(name: Name, event: PipelineEvents[Name]): Promise<void> {
    // Listeners are kept under the name of the event they take.
    for (const listener of this.#listeners.get(name) ?? []) await (listener as Listener<PipelineEvents[Name]>)(event);
  }

  /** {@link emit} where something has failed already: that error is the one to report, not one of a listener. */
  async emitFailure<Name extends keyof PipelineEvents>(name: Name, event: PipelineEvents[Name]): Promise<void> {
    await this.emit(name, event).catch(() => undefined);
  }

  readonly onAgentStarting = this.#register("agentStarting");
  readonly onAgentCompleted = this.#register("agentCompleted");
  readonly onAgentFailed = this.#register("agentFailed");
  readonly onAgentWaiting = this.#register("agentWaiting");
  readonly onStrategyStarting = this.#register("strategyStarting");
  readonly onStrategyCompleted = this.#register("strategyCompleted");
  readonly onStrategyFailed = this.#register("strategyFailed");
  readonly onRunMoved = this.#register("runMoved");
  readonly onNodeStarting = this.#register("nodeStarting");
  readonly onNodeCompleted = this.#register("nodeCompleted");
  readonly onNodeFailed = this.#register("nodeFailed");
  readonly onSubgraphStarting = this.#register("subgraphStarting");
  readonly onSubgraphCompleted = this.#register("subgraphCompleted");
  readonly onSubgraphFailed = this.#register("subgraphFailed");
  readonly onModelRequestStarting = this.#register("modelRequestStarting");
  readonly onModelRequestCompleted = this.#register("modelRequestCompleted");
  readonly onModelRequestFailed = this.#register("modelRequestFailed");
  readonly onToolCallStarting = this.#register("toolCallStarting");
  readonly onToolCallCompleted = this.#register("toolCallCompleted");
  readonly onToolCallFailed = this.#register("toolCallFailed");

  #register<Name extends keyof PipelineEvents>(name: Name): (listener: Listener<PipelineEvents[Name]>) => void {
    return (listener) => {
      const listeners = this.#listeners.get(name);
      if (listeners) listeners.push(listener);
      else this.#listeners.set(name, [listener]);
    };
  }
}

/** The first interceptor is the outermost. */
function wrapped<Event, Result>(
  arounds: readonly Around<Event, Result>[],
  innermost: Next<Event, Result>,
): Next<Event, Result> {
  return arounds.reduceRight<Next<Event, Result>>((next, wrap) => async (event) => wrap(event, next), innermost);
}
