import type { RunLine } from "../../checkpoint/ids/toolCallId.ts";
import type { ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import type { RunStart } from "./RunRequest.ts";
import type { RunState } from "../state/RunState.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { AnyTool } from "../tool/Tool.ts";

/** A line of execution: a run, a branch or a sub-agent. Features observe and control runs through this interface. */
export interface AgentRun {
  readonly agentId: string;
  readonly runId: string;
  /** The line that contains this line. `undefined` for the main line of the run. */
  readonly parent: AgentRun | undefined;
  /** The branch of a parallel node that this line runs, such as "both#facts". `undefined` outside branches. */
  readonly branch: string | undefined;
  /** The path of the node or subgraph that the line runs. "" for a whole strategy. */
  readonly root: string;
  /** The id of the tool call that this sub-agent runs for. `undefined` if the line is not a sub-agent. */
  readonly call: string | undefined;
  /** The tool names through which agents called each other, outermost first. Empty for the agent of the run. */
  readonly agentPath: readonly string[];
  readonly graph: StrategyGraph;
  readonly tools: ReadonlyMap<string, AnyTool>;
  /** The abort signal of the run. A run without a signal gets a signal that never aborts. */
  readonly signal: AbortSignal;
  /** The tokens of all model requests of the run, including earlier processes. `undefined` if unknown. */
  readonly usage: ModelUsage | undefined;
  /** The state of the line. A move replaces this object. */
  readonly state: RunState;
  /**
   * The lane from which tool-call ids are derived. A feature that records the run sets this lane before the first
   * visit.
   */
  line: RunLine;
  readonly generation: number;
  /** The start position that a feature passed as `request.start` or to the last move. `undefined` for a new run. */
  readonly start: RunStart | undefined;
  /** The position from which visits are numbered. When you set it, the next visit has ordinal 0. */
  visitBase: number;
  readonly visitOrdinal: number;
  /** True after a containing line has moved. From then on, results of this line are discarded. */
  readonly isClosed: boolean;

  /**
   * Closes every context of the current visit, aborts pending tool calls and model requests, and waits for them.
   * Resolves to the ids of the tool calls that did not settle within the grace period.
   */
  interrupt(options?: InterruptOptions): Promise<readonly string[]>;
  /** Continues at `start` after the body of the current node has settled. Discards the result or error of the body. */
  moveTo(start: RunStart): void;
  /**
   * Interrupts the visit, calls `prepare` to get the new position, and moves there. The run waits for the move even if
   * the body of the node settles first. If `prepare` rejects, this promise and the run reject. Moves run one at a time.
   * If an earlier move closes the context that requested this move, this move is rejected.
   */
  move(options: MoveOptions, prepare: (unended: readonly string[]) => Promise<RunStart>): Promise<void>;
  /**
   * Continues a line that waits for an answer. The line runs its node again from the position that `start` resolves to.
   * Returns true if the line waits, or is about to continue and will read the new answer. If `start` rejects, the line
   * fails.
   */
  goOn(start: () => Promise<RunStart>): boolean;
}

export interface InterruptOptions {
  /** The calls that continue: the call that interrupts, and the enclosing calls of sub-agents. Defaults to none. */
  readonly except?: readonly string[];
}

export interface MoveOptions extends InterruptOptions {
  /**
   * The signal of the context that requests the move. If the signal aborts, the move is not made. Defaults to no
   * signal.
   */
  readonly signal?: AbortSignal;
}
