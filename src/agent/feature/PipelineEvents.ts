import type { AssistantMessage, Message } from "../../checkpoint/messages/Message.ts";
import type { InputProblem } from "../../errors/agent/InvalidInputError.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { InputRequest } from "../context/InputRequest.ts";
import type { PromptAnswer } from "../model/PromptExecutor.ts";
import type { NextStep } from "../strategy/NextStep.ts";
import type { AnyTool, ApprovalVerdict } from "../tool/Tool.ts";
import type { AgentRun } from "./AgentRun.ts";
import type { BranchResult } from "./BranchResult.ts";
import type { RunStart } from "./RunRequest.ts";

/** The event of `aroundNode`. */
export interface NodeEvent {
  /** The path of the node. */
  readonly nodeId: string;
  readonly input: unknown;
  readonly context: AgentContext;
}

/** The event of `aroundModelRequest`. */
export interface ModelRequestEvent {
  /** Of the node, or of the tool call that asks the model; see `callOf`. */
  readonly context: AgentContext;
  readonly visit: NodeVisit;
  /** The number of the request in its context, from 0. */
  readonly ordinal: number;
  readonly messages: readonly Message[];
  readonly model: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly tools: readonly AnyTool[];
  /** True: another runtime asks. Its answer is found by its number alone, whatever it asks. Absent: false. */
  readonly isHosted?: true;
  /** Whose model it is, such as `openai`. Absent: unknown. */
  readonly provider?: string;
}

/** The event of `aroundToolCall`. */
export interface ToolCallEvent {
  readonly toolCallId: string;
  readonly tool: AnyTool;
  /** As the model or the caller wrote it: the schema accepts it and has not changed it. */
  readonly input: unknown;
  /** Of the node, or of the tool call that makes this call; see `callOf`. */
  readonly context: AgentContext;
  readonly visit: NodeVisit;
  readonly origin: CallOrigin;
}

/** The event of `aroundBranch`. */
export interface BranchEvent {
  /** The line that visits the parallel node. */
  readonly run: AgentRun;
  /** The path of the parallel node. */
  readonly nodeId: string;
  /** The name of the branch, or for `graph.each` the key of its item. */
  readonly key: string;
  /** Where the branch begins. */
  readonly start: RunStart;
}

/** The event of `aroundAgentCall`. */
export interface AgentCallEvent {
  /** The line that makes the call. */
  readonly run: AgentRun;
  readonly toolCallId: string;
  /** The name that the agent has as a tool. */
  readonly toolName: string;
  /** The pipeline of the agent that is called: the object that its features were installed into. */
  readonly callee: object;
  /** Where it begins. */
  readonly start: RunStart;
}

/** Where an agent begins that a tool call runs, or the output of one that has ended before. */
export type AgentCallBeginning = { readonly start: RunStart } | { readonly output: unknown };

/** Where a branch begins, or what it left when it ended. */
export type BranchBeginning = { readonly start: RunStart } | { readonly result: BranchResult };

/** The event of `aroundInputRequest`. */
export interface InputRequestEvent {
  /** The same when the visit is repeated; different in another visit and after a move. */
  readonly requestId: string;
  readonly nodeId: string;
  readonly request: InputRequest;
  /** The digest of what is asked: prompt, schema and `waitingFor`. An answer to another question is not one to this. */
  readonly question: string;
  /** The number, from 0, among the requests of its context with this question and without an id. Absent: it has an id. */
  readonly ordinal?: number;
  /** Why the last answer was refused; set by a feature that asks again. Absent: no answer was refused. */
  readonly problems?: readonly InputProblem[];
  /** The tool call that needs an approval. Absent: the node asks for input. */
  readonly approval?: ApprovalEvent;
  /** Of the node, or of the tool call that makes the request; see `callOf`. */
  readonly context: AgentContext;
  readonly visit: NodeVisit;
}

/** A tool call that may need an approval before it begins. */
export interface ApprovalEvent {
  /** The context of this call is that of its caller. */
  readonly call: ToolCallEvent;
  /** Asks the tool whether the call needs an approval. Absent from a request that is open: it does. */
  readonly judge?: () => Promise<ApprovalVerdict>;
}

/** Whether a model or node code made a tool call. */
export type CallOrigin =
  | {
      readonly kind: "model";
      readonly message: AssistantMessage;
      /** The index of the tool-call part in the message's content. */
      readonly index: number;
    }
  | {
      readonly kind: "node";
      /** The number of the call in its context, from 0. */
      readonly ordinal: number;
    };

/**
 * Every event by name, with what its listeners get: `onNodeCompleted` of {@link FeaturePipeline} listens to
 * `nodeCompleted`. The run waits for its listeners. An error that a listener throws fails the run. It is dropped where the
 * run has failed already: in `agentFailed`, `strategyFailed`, `subgraphFailed` and `nodeFailed`.
 */
export interface PipelineEvents {
  /** A run begins or is resumed, before any of its nodes. Not emitted when a feature answers with a recorded result. */
  agentStarting: { readonly run: AgentRun };
  /** The run has its output. Emitted before `run` or `resume` resolves. */
  agentCompleted: { readonly run: AgentRun; readonly output: unknown };
  /** The run rejects with this error; also when it was aborted. */
  agentFailed: { readonly run: AgentRun; readonly error: unknown };
  /** A line waits: only these requests are pending in its node. The run goes on with its other lines, if there are any. */
  lineWaiting: { readonly run: AgentRun; readonly requests: readonly InputRequestEvent[] };
  /** A line that waited has an answer, and `next` runs again. */
  lineContinued: { readonly run: AgentRun; readonly next: NextStep };
  /** A parallel node begins, before its branches, with these names or keys. */
  forkStarting: {
    readonly run: AgentRun;
    readonly nodeId: string;
    readonly input: unknown;
    readonly keys: readonly string[];
  };
  /** A branch begins or is resumed: `run` is its line. */
  branchStarting: { readonly run: AgentRun; readonly next: NextStep };
  /** A branch has its output. */
  branchCompleted: { readonly run: AgentRun; readonly output: unknown };
  /** A branch failed with this error, in this node. */
  branchFailed: { readonly run: AgentRun; readonly nodeId: string; readonly error: unknown };
  /** All branches of a parallel node have ended, and its `merge` has not begun. */
  branchesJoined: {
    readonly run: AgentRun;
    readonly nodeId: string;
    readonly input: unknown;
    /** What the branches left, by name or key. */
    readonly results: ReadonlyMap<string, BranchResult>;
  };
  /** The run ends as `waiting`: no line can go on without an answer. Their nodes run again when the run is resumed. */
  agentWaiting: { readonly run: AgentRun; readonly requests: readonly InputRequestEvent[] };
  /** The first node is known and has not run. Also emitted when the run begins elsewhere than at the start. */
  strategyStarting: { readonly run: AgentRun; readonly next: NextStep };
  /** The strategy has reached its finish. */
  strategyCompleted: { readonly run: AgentRun; readonly output: unknown };
  /** The strategy failed with this error. Emitted after the failures of its node and its subgraphs. */
  strategyFailed: { readonly run: AgentRun; readonly error: unknown };
  /** The run has moved to `next`, whose node has not run. */
  runMoved: { readonly run: AgentRun; readonly next: NextStep };
  /** A visit of a node begins. Emitted before the interceptors of `aroundNode`. */
  nodeStarting: NodeEvent & { readonly run: AgentRun };
  /** A node has ended and its edges lead to `next`. Not emitted for a node that moved the run. */
  nodeCompleted: NodeEvent & { readonly run: AgentRun; readonly output: unknown; readonly next: NextStep };
  /** A node failed. `unresolved`: the node returned this output, and then its edges threw or none matched. */
  nodeFailed: NodeEvent & {
    readonly run: AgentRun;
    readonly error: unknown;
    readonly unresolved?: { readonly output: unknown };
  };
  /** The run enters a subgraph. Not emitted for the subgraphs around a node at which the run begins. */
  subgraphStarting: { readonly run: AgentRun; readonly path: string; readonly input: unknown };
  /** The run leaves a subgraph with this output. */
  subgraphCompleted: { readonly run: AgentRun; readonly path: string; readonly output: unknown };
  /** The run failed inside a subgraph. Emitted for each subgraph around the node, innermost first. */
  subgraphFailed: { readonly run: AgentRun; readonly path: string; readonly error: unknown };
  /** A node or a tool asks the model. Emitted before the interceptors, so also when one of them replays an answer. */
  modelRequestStarting: ModelRequestEvent;
  /**
   * The model has answered, or an interceptor has. The answer carries the library's tool-call ids. `replayed`: no model was
   * asked, so that its tokens were used before.
   */
  modelRequestCompleted: ModelRequestEvent & PromptAnswer & { readonly replayed: boolean };
  /** A try of a request failed, and the next one is made after `delayMs` milliseconds. `attempt`: which one failed, from 1. */
  modelRequestRetrying: ModelRequestEvent & {
    readonly error: unknown;
    readonly attempt: number;
    readonly delayMs: number;
  };
  /** A request was rejected. The node may catch what the model threw. */
  modelRequestFailed: ModelRequestEvent & { readonly error: unknown };
  /** The tool's schema has accepted the input. Emitted before the interceptors, so also when one replays an outcome. */
  toolCallStarting: ToolCallEvent;
  /** The tool has returned its output, or an interceptor has. */
  toolCallCompleted: ToolCallEvent & { readonly output: unknown };
  /** A call failed or was interrupted. The caller may catch what the tool threw. */
  toolCallFailed: ToolCallEvent & { readonly error: unknown };
}

/** Identifies a visit of a node. A visit that is repeated after a crash has the same values. */
export interface NodeVisit {
  /** Where visits are numbered from, such as the position of the last checkpoint. */
  readonly base: number;
  /** The number of visits between `base` and this one. */
  readonly ordinal: number;
}
