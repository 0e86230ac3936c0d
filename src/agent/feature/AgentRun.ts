import type { RunLine } from "../../checkpoint/toolCallId.ts";
import type { RunStart } from "./RunStart.ts";
import type { RunState } from "../state/RunState.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { AnyTool } from "../tool/Tool.ts";

/** One run while it goes on, as features see and steer it. */
export interface AgentRun {
  readonly agentId: string;
  readonly runId: string;
  readonly graph: StrategyGraph;
  /** The tools of the agent by name. */
  readonly tools: ReadonlyMap<string, AnyTool>;
  /** The signal the run was given; one that never aborts when it was given none. */
  readonly signal: AbortSignal;
  /** Another object after a move. */
  readonly state: RunState;
  readonly line: RunLine;
  readonly generation: number;
  /** The very object a feature passed as `request.start`, or to the last move. Absent: a fresh start. */
  readonly start: RunStart | undefined;
  /** What visits are counted from. Setting it makes the next visit the first; the current one keeps its own. */
  visitBase: number;
  /** How many visits were begun since `visitBase`. */
  readonly visitOrdinal: number;

  /**
   * Closes every context of the current node visit, aborts its tool calls and model requests in flight, and waits for
   * them. Resolves to the ids of the tool calls that did not end in time.
   */
  interrupt(options?: InterruptOptions): Promise<readonly string[]>;
  /** After the current node's body has settled, goes on at `start`; what the body returns or throws is discarded. */
  moveTo(start: RunStart): void;
  /**
   * Interrupts, lets `prepare` decide where to go on, and moves there. The run waits for it even when the node's body
   * ends before; when `prepare` rejects, so do this promise and the run.
   */
  move(options: InterruptOptions, prepare: (unended: readonly string[]) => Promise<RunStart>): Promise<void>;
}

/** How to interrupt a visit. */
export interface InterruptOptions {
  /** The tool call that asks for the interruption: not aborted, not waited for. Absent: node code asks. */
  readonly except?: string;
}
