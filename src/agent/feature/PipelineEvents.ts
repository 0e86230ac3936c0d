import type { AssistantMessage, Message } from "../../checkpoint/messages/Message.ts";
import type { InputProblem } from "../../errors/agentErrors.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { InputRequest, TimerRequest } from "../context/InputRequest.ts";
import type { PromptAnswer } from "../model/PromptExecutor.ts";
import type { NextStep } from "../strategy/StrategyGraph.ts";
import type { AnyTool, ApprovalVerdict } from "../tool/Tool.ts";
import type { AgentRun } from "./AgentRun.ts";
import type { RunStart, BranchResult } from "./RunRequest.ts";
import type { z } from "zod";

export interface NodeEvent {
  readonly nodeId: string;
  readonly input: unknown;
  readonly context: AgentContext;
}

export interface ModelRequestEvent {
  /** The context of the node or tool call that makes the request; see `callOf`. */
  readonly context: AgentContext;
  readonly visit: NodeVisit;
  /** The number of the request in its context, from 0. */
  readonly ordinal: number;
  readonly messages: readonly Message[];
  readonly model: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly tools: readonly AnyTool[];
  /**
   * True for a request of another runtime. A replay finds the response by the number of the request and ignores the
   * content.
   */
  readonly isHosted?: true;
  /** The provider of the model, such as `openai`. `undefined` if unknown. */
  readonly provider?: string;
}

export interface ToolCallEvent {
  readonly toolCallId: string;
  readonly tool: AnyTool;
  /** The input as the model or the caller wrote it. The schema has accepted this input without changing it. */
  readonly input: unknown;
  /** The context of the node or tool call that makes this call; see `callOf`. */
  readonly context: AgentContext;
  readonly visit: NodeVisit;
  readonly origin: CallOrigin;
}

export interface BranchEvent {
  readonly run: AgentRun;
  readonly nodeId: string;
  /** The name of the branch, or for `graph.each` the key of its item. */
  readonly key: string;
  readonly start: RunStart;
}

export interface AgentCallEvent {
  readonly run: AgentRun;
  readonly toolCallId: string;
  readonly toolName: string;
  /** Identifies the called agent: the pipeline that its features were installed into. */
  readonly callee: object;
  readonly start: RunStart;
}

export type AgentCallBeginning = { readonly start: RunStart } | { readonly output: unknown };

export type BranchBeginning = { readonly start: RunStart } | { readonly result: BranchResult };

export interface InputRequestEvent {
  /** Identifies the request. A repeated visit has the same id. Another visit, also after a move, has another id. */
  readonly requestId: string;
  readonly nodeId: string;
  readonly request: InputRequest | TimerRequest;
  /** The digest of prompt, schema and `waitingFor`. An answer is used only for a request with the same digest. */
  readonly question: string;
  /** The number, from 0, among requests of the context with this question and without an id. `undefined` with an id. */
  readonly ordinal?: number;
  /** Why the last answer was rejected. A feature sets this when it requests the input again. */
  readonly problems?: readonly InputProblem[];
  /** The tool call that needs an approval. `undefined` if the node requests input. */
  readonly approval?: ApprovalEvent;
  /** The timer of a sleeping node or tool. `undefined` if the event needs an answer. */
  readonly timer?: TimerEvent;
  /** The context of the node or tool call that makes the request; see `callOf`. */
  readonly context: AgentContext;
  readonly visit: NodeVisit;
}

/** A tool call that may need an approval before it starts. */
export interface ApprovalEvent {
  readonly call: ToolCallEvent;
  /**
   * Returns whether the tool requires an approval. Omitted for an open request, because an approval is then required.
   */
  readonly judge?: () => Promise<ApprovalVerdict>;
}

/** A sleep of a node or a tool. The sleep ends by itself, and the result of the event is ignored. */
export interface TimerEvent {
  /** When the sleep ends, in milliseconds since 1970. */
  readonly dueAt: number;
  /** When the sleep started, in milliseconds since 1970. Set by a feature that records it. */
  readonly startedAt?: number;
  /** The remaining time in milliseconds, measured by the monotonic clock. */
  readonly leftMs: number;
  /** True if the run may end as `waiting` before the sleep ends. */
  readonly mayWait: boolean;
  /** The event that the node waits for. `undefined` for a sleep. `dueAt` is `Infinity` for a wait without a limit. */
  readonly event?: ArrivalEvent;
}

/** The event of `context.receive`. */
export interface ArrivalEvent {
  readonly name: string;
  readonly schema: z.core.$ZodType;
  /** Returns whether the tool or node of the request has ended. No code then awaits the event. */
  readonly isLeft: () => boolean;
  /** Calls `end` when the event may have arrived. Returns a function that stops this. Set by the events' feature. */
  readonly onArrival?: (end: () => void) => () => void;
  /** How long the process waits before the run may end as `waiting`, in milliseconds. Defaults to 0. */
  readonly inProcessMs?: number;
}

export type CallOrigin =
  | {
      readonly kind: "model";
      readonly message: AssistantMessage;
      /** The index of the tool-call part in the content of the message. */
      readonly index: number;
    }
  | {
      readonly kind: "node";
      /** The number of the call in its context, from 0. */
      readonly ordinal: number;
    };

/**
 * The events of the pipeline. For example, `onNodeCompleted` of {@link FeaturePipeline} listens to `nodeCompleted`. The
 * run waits for its listeners, and an error of a listener fails the run. Errors in listeners of `agentFailed`,
 * `strategyFailed`, `subgraphFailed` and `nodeFailed` are ignored, because the run has already failed.
 */
export interface PipelineEvents {
  /** A run starts or resumes, before its first node. Not emitted if a feature returns a recorded result. */
  agentStarting: { readonly run: AgentRun };
  /** The run has finished. Emitted before `run` or `resume` resolves. */
  agentCompleted: { readonly run: AgentRun; readonly output: unknown };
  /** The run rejects with this error, or was aborted. */
  agentFailed: { readonly run: AgentRun; readonly error: unknown };
  /** A line waits for these requests. Other lines of the run continue. */
  lineWaiting: { readonly run: AgentRun; readonly requests: readonly InputRequestEvent[] };
  /** A line that waited has an answer. The node of `next` runs again. */
  lineContinued: { readonly run: AgentRun; readonly next: NextStep };
  /** A parallel node starts, before its branches. `keys` are the names or keys of the branches. */
  forkStarting: {
    readonly run: AgentRun;
    readonly nodeId: string;
    readonly input: unknown;
    readonly keys: readonly string[];
  };
  /** A branch starts or resumes. `run` is its line. */
  branchStarting: { readonly run: AgentRun; readonly next: NextStep };
  branchCompleted: { readonly run: AgentRun; readonly output: unknown };
  /** A branch failed in this node. */
  branchFailed: { readonly run: AgentRun; readonly nodeId: string; readonly error: unknown };
  /** All branches of a parallel node have finished, but its `merge` has not started. */
  branchesJoined: {
    readonly run: AgentRun;
    readonly nodeId: string;
    readonly input: unknown;
    readonly results: ReadonlyMap<string, BranchResult>;
  };
  /** The run ends as `waiting`, because all lines need an answer. Their nodes run again when the run is resumed. */
  agentWaiting: { readonly run: AgentRun; readonly requests: readonly InputRequestEvent[] };
  /** The first node is known but has not started. Also emitted if the run continues at a later node. */
  strategyStarting: { readonly run: AgentRun; readonly next: NextStep };
  strategyCompleted: { readonly run: AgentRun; readonly output: unknown };
  /** The strategy failed. Emitted after the failures of its node and subgraphs. */
  strategyFailed: { readonly run: AgentRun; readonly error: unknown };
  /** The run has moved to `next`. Its node has not started. */
  runMoved: { readonly run: AgentRun; readonly next: NextStep };
  /** A visit of a node starts. Emitted before the interceptors of `aroundNode`. */
  nodeStarting: NodeEvent & { readonly run: AgentRun };
  /** A node has finished, and its edges select `next`. Not emitted for a node that moved the run. */
  nodeCompleted: NodeEvent & { readonly run: AgentRun; readonly output: unknown; readonly next: NextStep };
  /** A node failed. `unresolved` is the output of a node whose edges threw or did not match. */
  nodeFailed: NodeEvent & {
    readonly run: AgentRun;
    readonly error: unknown;
    readonly unresolved?: { readonly output: unknown };
  };
  /** The run enters a subgraph. Not emitted for subgraphs around the node at which the run starts. */
  subgraphStarting: { readonly run: AgentRun; readonly path: string; readonly input: unknown };
  /** The run leaves a subgraph with this output. */
  subgraphCompleted: { readonly run: AgentRun; readonly path: string; readonly output: unknown };
  /** The run failed inside a subgraph. Emitted for each subgraph around the node, innermost first. */
  subgraphFailed: { readonly run: AgentRun; readonly path: string; readonly error: unknown };
  /**
   * A node or a tool makes a model request. Emitted before the interceptors, even if an interceptor replays a response.
   */
  modelRequestStarting: ModelRequestEvent;
  /** The model or an interceptor has responded. If `replayed`, no model was called, and the tokens were counted. */
  modelRequestCompleted: ModelRequestEvent & PromptAnswer & { readonly replayed: boolean };
  /** An attempt failed and is retried after `delayMs` milliseconds. `attempt` is its number, from 1. */
  modelRequestRetrying: ModelRequestEvent & {
    readonly error: unknown;
    readonly attempt: number;
    readonly delayMs: number;
  };
  /** A request failed. The node can catch errors of the model. */
  modelRequestFailed: ModelRequestEvent & { readonly error: unknown };
  /**
   * The schema of the tool has accepted the input. Emitted before the interceptors, even if an interceptor replays an
   * outcome.
   */
  toolCallStarting: ToolCallEvent;
  /** The tool or an interceptor has returned the output. */
  toolCallCompleted: ToolCallEvent & { readonly output: unknown };
  /** A call failed or was interrupted. The caller can catch errors of the tool. */
  toolCallFailed: ToolCallEvent & { readonly error: unknown };
}

/** Identifies a visit of a node. A visit that is repeated after a crash has the same values. */
export interface NodeVisit {
  /** The position that visits are numbered from, such as the position of the last checkpoint. */
  readonly base: number;
  readonly ordinal: number;
}
