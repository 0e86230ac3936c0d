import type { RunLine } from "../../checkpoint/ids/toolCallId.ts";
import type { ModelUsage } from "../../checkpoint/tokenUsage/ModelUsage.ts";
import type { RunStart } from "./RunRequest.ts";
import type { RunState } from "../state/RunState.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { AnyTool } from "../tool/Tool.ts";

/** A run, a branch of a parallel node, or a sub-agent. Features observe and control runs through this interface. */
export interface AgentRun {
  readonly agentId: string;
  readonly runId: string;
  /** The run, branch or sub-agent that contains this one. `undefined` for the run itself. */
  readonly parent: AgentRun | undefined;
  /** The path of this branch of a parallel node, such as "both#facts". `undefined` outside branches. */
  readonly branch: string | undefined;
  /** The path of the node or subgraph that a branch runs. "" for a whole strategy. */
  readonly root: string;
  /** The id of the tool call that runs this sub-agent. `undefined` if this is not a sub-agent. */
  readonly call: string | undefined;
  /** The tool names through which agents called each other, outermost first. Empty for the agent of the run. */
  readonly agentPath: readonly string[];
  readonly graph: StrategyGraph;
  readonly tools: ReadonlyMap<string, AnyTool>;
  /** The abort signal of the run. A run without a signal gets a signal that never aborts. */
  readonly signal: AbortSignal;
  /** The tokens of all model requests of the run, in all processes. `undefined` if unknown. */
  readonly usage: ModelUsage | undefined;
  readonly state: RunState;
  /** The lane (the history since a move) from which tool-call ids are derived. Set before the first node starts. */
  line: RunLine;
  readonly generation: number;
  /** The start position that a feature passed in `request.start` or to the last move. `undefined` for a new run. */
  readonly start: RunStart | undefined;
  /** The position in the log from which node executions are numbered. Setting it resets `visitOrdinal` to 0. */
  visitBase: number;
  readonly visitOrdinal: number;
  /** True after the enclosing run, branch or sub-agent has moved. Later results are discarded. */
  readonly isClosed: boolean;

  /**
   * Aborts the tool calls and model requests of the current node and waits for them. Closes its contexts. Resolves to
   * the ids of the tool calls that did not settle within the grace period.
   */
  interrupt(options?: InterruptOptions): Promise<readonly string[]>;
  /** Discards the result of the current node, and continues at `start` after the node has settled. */
  moveTo(start: RunStart): void;
  /**
   * Interrupts the current node, gets the new position from `prepare`, and moves there. The run waits for the move even
   * if the node settles first. If `prepare` rejects, this promise and the run reject. Moves run one at a time. If an
   * earlier move closed the context that requested this move, this move is rejected.
   */
  move(options: MoveOptions, prepare: (unended: readonly string[]) => Promise<RunStart>): Promise<void>;
  /**
   * Continues a run, branch or sub-agent that waits for an answer, at the position of its node that `start` resolves
   * to. Returns `false` if the run or branch does not wait and will not read the new answer. If `start` rejects, the
   * run fails.
   */
  goOn(start: () => Promise<RunStart>): boolean;
}

export interface InterruptOptions {
  /** The ids of tool calls that continue: the call that interrupts, and the calls of sub-agents around it. */
  readonly except?: readonly string[];
}

export interface MoveOptions extends InterruptOptions {
  /** The signal of the context that requests the move. If the signal aborts, the move is not made. */
  readonly signal?: AbortSignal;
}
