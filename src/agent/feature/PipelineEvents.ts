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
  /** The number of the request in its node or tool call, from 0. */
  readonly ordinal: number;
  readonly messages: readonly Message[];
  readonly model: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly tools: readonly AnyTool[];
  /** True for a request of another runtime. A replay returns the response with the same number, even to a changed request. */
  readonly isHosted?: true;
  /** The provider of the model, such as `openai`. `undefined` if unknown. */
  readonly provider?: string;
}

export interface ToolCallEvent {
  readonly toolCallId: string;
  readonly tool: AnyTool;
  /** The input before parsing, as the model or the caller wrote it. The schema has accepted this input. */
  readonly input: unknown;
  /** The context of the node or tool call that makes this call; see `callOf`. */
  readonly context: AgentContext;
  readonly visit: NodeVisit;
  readonly origin: CallOrigin;
}

export interface BranchEvent {
  readonly run: AgentRun;
  readonly nodeId: string;
  /** The name of the branch, or the key of its item for `graph.each`. */
  readonly key: string;
  readonly start: RunStart;
}

export interface AgentCallEvent {
  readonly run: AgentRun;
  readonly toolCallId: string;
  readonly toolName: string;
  /** Identifies the called agent by its pipeline. */
  readonly callee: object;
  readonly start: RunStart;
}

export type AgentCallBeginning = { readonly start: RunStart } | { readonly output: unknown };

export type BranchBeginning = { readonly start: RunStart } | { readonly result: BranchResult };

export interface InputRequestEvent {
  /** The id of the request. It is the same when the node runs again after a crash, and differs after a move. */
  readonly requestId: string;
  readonly nodeId: string;
  readonly request: InputRequest | TimerRequest;
  /** The digest of prompt, schema and `waitingFor`. An answer is used only for a request with the same digest. */
  readonly question: string;
  /** The number of the request among equal requests of its node or tool call, from 0. `undefined` if it has an id. */
  readonly ordinal?: number;
  /** Why the last answer was rejected. A feature sets `problems` when it requests the input again. */
  readonly problems?: readonly InputProblem[];
  /** The tool call that needs an approval. `undefined` for a request of a node. */
  readonly approval?: ApprovalEvent;
  /** The timer of a sleep or of a wait for an event. `undefined` for a request that needs an answer. */
  readonly timer?: TimerEvent;
  /** The context of the node or tool call that makes the request; see `callOf`. */
  readonly context: AgentContext;
  readonly visit: NodeVisit;
}

/** A tool call that may need an approval before it starts. */
export interface ApprovalEvent {
  readonly call: ToolCallEvent;
  /** Returns whether the tool requires an approval. Omitted if an approval is already requested and not answered. */
  readonly judge?: () => Promise<ApprovalVerdict>;
}

/** A sleep, or a wait for an event. It ends by itself, and its result is ignored. */
export interface TimerEvent {
  /** When the sleep ends, in milliseconds since 1970. */
  readonly dueAt: number;
  /** When the sleep started, in milliseconds since 1970. Set by a feature that records sleeps. */
  readonly startedAt?: number;
  /** The remaining time in milliseconds. A change of the system clock does not change it. */
  readonly leftMs: number;
  /** True if the run may end as `waiting` before the sleep ends. */
  readonly mayWait: boolean;
  /** The event that the node waits for. `undefined` for a sleep. `dueAt` is `Infinity` for a wait without a limit. */
  readonly event?: ArrivalEvent;
}

export interface ArrivalEvent {
  readonly name: string;
  readonly schema: z.core.$ZodType;
  /** Returns whether the waiting node or tool call has ended, so that no code awaits the event. */
  readonly isLeft: () => boolean;
  /** Calls `end` when the event may have arrived. Returns a function that stops the calls. Set by a feature. */
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
      /** The number of the call in its node or tool call, from 0. */
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
  /** The run, a branch or a sub-agent waits for these requests. Other branches continue. */
  lineWaiting: { readonly run: AgentRun; readonly requests: readonly InputRequestEvent[] };
  /** A run, branch or sub-agent that waited has an answer. The node of `next` runs again. */
  lineContinued: { readonly run: AgentRun; readonly next: NextStep };
  /** A parallel node starts, before its branches. `keys` are the names or keys of the branches. */
  forkStarting: {
    readonly run: AgentRun;
    readonly nodeId: string;
    readonly input: unknown;
    readonly keys: readonly string[];
  };
  /** A branch starts or resumes. `run` is the branch. */
  branchStarting: { readonly run: AgentRun; readonly next: NextStep };
  branchCompleted: { readonly run: AgentRun; readonly output: unknown };
  branchFailed: { readonly run: AgentRun; readonly nodeId: string; readonly error: unknown };
  /** All branches of a parallel node have finished, but its `merge` has not started. */
  branchesJoined: {
    readonly run: AgentRun;
    readonly nodeId: string;
    readonly input: unknown;
    readonly results: ReadonlyMap<string, BranchResult>;
  };
  /** The run ends as `waiting`, because all branches need an answer. Their nodes run again when the run is resumed. */
  agentWaiting: { readonly run: AgentRun; readonly requests: readonly InputRequestEvent[] };
  /** The first node is known but has not started. Also emitted if the run continues at a later node. */
  strategyStarting: { readonly run: AgentRun; readonly next: NextStep };
  strategyCompleted: { readonly run: AgentRun; readonly output: unknown };
  /** The strategy failed. Emitted after the failures of the node and of its subgraphs. */
  strategyFailed: { readonly run: AgentRun; readonly error: unknown };
  /** The run has moved to `next`, whose node has not started yet. */
  runMoved: { readonly run: AgentRun; readonly next: NextStep };
  /** A node starts. Emitted before the interceptors of `aroundNode`. */
  nodeStarting: NodeEvent & { readonly run: AgentRun };
  /** A node has finished, and its edges select `next`. Not emitted for a node that moved the run. */
  nodeCompleted: NodeEvent & { readonly run: AgentRun; readonly output: unknown; readonly next: NextStep };
  /** A node failed. `unresolved` is its output if the edges of the node threw or did not match. */
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
  /** A node or a tool makes a model request. Emitted before the interceptors, even if one replays a response. */
  modelRequestStarting: ModelRequestEvent;
  /** The model or an interceptor has responded. If `replayed`, the response and its tokens were recorded earlier. */
  modelRequestCompleted: ModelRequestEvent & PromptAnswer & { readonly replayed: boolean };
  /** An attempt failed. The next one starts after `delayMs` milliseconds. `attempt` counts failed attempts, from 1. */
  modelRequestRetrying: ModelRequestEvent & {
    readonly error: unknown;
    readonly attempt: number;
    readonly delayMs: number;
  };
  /** A request failed. The node can catch errors of the model. */
  modelRequestFailed: ModelRequestEvent & { readonly error: unknown };
  /** The schema of the tool accepted the input. Emitted before the interceptors, even if one replays an outcome. */
  toolCallStarting: ToolCallEvent;
  /** The tool or an interceptor has returned the output. */
  toolCallCompleted: ToolCallEvent & { readonly output: unknown };
  /** A call failed or was interrupted. The caller can catch errors of the tool. */
  toolCallFailed: ToolCallEvent & { readonly error: unknown };
}

/** Identifies an execution of a node. An execution that is repeated after a crash has the same values. */
export interface NodeVisit {
  /** The position in the log from which node executions are numbered, such as the position of the last checkpoint. */
  readonly base: number;
  readonly ordinal: number;
}
