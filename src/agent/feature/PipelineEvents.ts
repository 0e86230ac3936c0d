import type { AssistantMessage, Message } from "../../checkpoint/messages/Message.ts";
import type { InputProblem } from "../../errors/agent/InvalidInputError.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { InputRequest } from "../context/InputRequest.ts";
import type { NextStep } from "../strategy/NextStep.ts";
import type { AnyTool } from "../tool/Tool.ts";
import type { AgentRun } from "./AgentRun.ts";

/** What `aroundNode` sees. */
export interface NodeEvent {
  /** The path of the node. */
  readonly nodeId: string;
  readonly input: unknown;
  readonly context: AgentContext;
}

/** What `aroundModelRequest` sees. */
export interface ModelRequestEvent {
  /** Of the node, or of the tool call in which the model was asked (`callOf` tells). */
  readonly context: AgentContext;
  readonly visit: NodeVisit;
  /** Which request of this context it is, from 0. */
  readonly ordinal: number;
  readonly messages: readonly Message[];
  readonly model: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly tools: readonly AnyTool[];
}

/** What `aroundToolCall` sees. */
export interface ToolCallEvent {
  readonly toolCallId: string;
  readonly tool: AnyTool;
  /** As the model or the caller wrote it, before the schema; the schema accepts it. */
  readonly input: unknown;
  /** Of the node, or of the tool call in which this one was asked for (`callOf` tells). */
  readonly context: AgentContext;
  readonly visit: NodeVisit;
  readonly origin: CallOrigin;
}

/** What `aroundInputRequest` sees. */
export interface InputRequestEvent {
  /** The same when the node runs again, another after a move and in another visit. */
  readonly requestId: string;
  readonly nodeId: string;
  readonly request: InputRequest;
  /** Which request without an id of this context it is, from 0; absent when it was given an id. */
  readonly ordinal?: number;
  /** Why the last answer was refused; set by a feature that asks again. Absent: none was. */
  readonly problems?: readonly InputProblem[];
  /** Of the node, or of the tool call in which it is made (`callOf` tells). */
  readonly context: AgentContext;
  readonly visit: NodeVisit;
}

/** Who asked for a tool call. */
export type CallOrigin =
  | {
      readonly kind: "model";
      readonly message: AssistantMessage;
      /** The place of the tool-call part in the message's content. */
      readonly index: number;
    }
  | {
      readonly kind: "node";
      /** Which call of this context it is, from 0. */
      readonly ordinal: number;
    };

/** Every event, by name, with what its listeners get. */
export interface PipelineEvents {
  agentStarting: { readonly run: AgentRun };
  agentCompleted: { readonly run: AgentRun; readonly output: unknown };
  agentFailed: { readonly run: AgentRun; readonly error: unknown };
  /** The run ends here, waiting: nothing goes on but these requests. Their node runs again when it is resumed. */
  agentWaiting: { readonly run: AgentRun; readonly requests: readonly InputRequestEvent[] };
  /** The first position is known and its node has not run. Also when the run begins elsewhere than at the start. */
  strategyStarting: { readonly run: AgentRun; readonly next: NextStep };
  strategyCompleted: { readonly run: AgentRun; readonly output: unknown };
  strategyFailed: { readonly run: AgentRun; readonly error: unknown };
  /** The run goes on elsewhere, and the node there has not run. */
  runMoved: { readonly run: AgentRun; readonly next: NextStep };
  nodeStarting: NodeEvent & { readonly run: AgentRun };
  /** The next node does not start before every listener is done. */
  nodeCompleted: NodeEvent & { readonly run: AgentRun; readonly output: unknown; readonly next: NextStep };
  /** `unresolved`: the node itself finished with this output, and its edges threw or none matched. */
  nodeFailed: NodeEvent & {
    readonly run: AgentRun;
    readonly error: unknown;
    readonly unresolved?: { readonly output: unknown };
  };
  /** Not told about subgraphs around the node where a run begins elsewhere than at the start. */
  subgraphStarting: { readonly run: AgentRun; readonly path: string; readonly input: unknown };
  subgraphCompleted: { readonly run: AgentRun; readonly path: string; readonly output: unknown };
  subgraphFailed: { readonly run: AgentRun; readonly path: string; readonly error: unknown };
  modelRequestStarting: ModelRequestEvent;
  modelRequestCompleted: ModelRequestEvent & { readonly message: AssistantMessage };
  modelRequestFailed: ModelRequestEvent & { readonly error: unknown };
  toolCallStarting: ToolCallEvent;
  toolCallCompleted: ToolCallEvent & { readonly output: unknown };
  toolCallFailed: ToolCallEvent & { readonly error: unknown };
}

/** Which visit of a node this is: the same when the visit is repeated after a crash. */
export interface NodeVisit {
  /** What visits are counted from, such as the position of the last checkpoint. */
  readonly base: number;
  /** The visits between `base` and this one. */
  readonly ordinal: number;
}
