import type { RunLine } from "../../checkpoint/toolCallId.ts";
import type { ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import type { RunStart } from "./RunRequest.ts";
import type { RunState } from "../state/RunState.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { AnyTool } from "../tool/Tool.ts";

/** A run in progress, or a branch of it, as features see and steer it: each is a line that visits one node after another. */
export interface AgentRun {
  readonly agentId: string;
  readonly runId: string;
  /** The line that this one is nested in. `undefined`: it is the main line. */
  readonly parent: AgentRun | undefined;
  /** The branch of a parallel node that it is, such as "both#facts". `undefined`: it is none. */
  readonly branch: string | undefined;
  /** The path of the node that the line visits with all that is in it; "" for a whole strategy. */
  readonly root: string;
  /** The tool call that it runs for, as a sub-agent. `undefined`: it is none. */
  readonly call: string | undefined;
  /** The names of the tools by which agents called each other down to this line's. Empty for the agent that was run. */
  readonly agentPath: readonly string[];
  readonly graph: StrategyGraph;
  /** The tools of the agent by name. */
  readonly tools: ReadonlyMap<string, AnyTool>;
  /** The signal that the run was given. If it was given none, one that never aborts. */
  readonly signal: AbortSignal;
  /** The tokens of all model requests of the run so far, those of earlier processes included. `undefined`: unknown. */
  readonly usage: ModelUsage | undefined;
  /** Replaced by a move. */
  readonly state: RunState;
  /** A feature that records the line sets it as the line begins, before the first visit. */
  line: RunLine;
  readonly generation: number;
  /** The object that a feature passed as `request.start`, or to the last move. `undefined`: a fresh start. */
  readonly start: RunStart | undefined;
  /** Visits are numbered from here. Setting it gives the next visit the ordinal 0; the current visit keeps its own. */
  visitBase: number;
  /** The number of visits that have begun since `visitBase`. */
  readonly visitOrdinal: number;
  /** True once a line that it is nested in has moved: nothing of it counts any more. */
  readonly isClosed: boolean;

  /**
   * Closes every context of the current visit, aborts its pending tool calls and model requests, and waits for them.
   * Resolves to the ids of the tool calls that did not end within the grace period.
   */
  interrupt(options?: InterruptOptions): Promise<readonly string[]>;
  /** Continues at `start` once the current node's body has settled. What the body returns or throws is discarded. */
  moveTo(start: RunStart): void;
  /**
   * Interrupts the visit, asks `prepare` where to continue, and moves there. The run waits for the move even if the
   * node's body ends first. If `prepare` rejects, so do this promise and the run. A move that waits for another one is refused
   * when that closes the context that asks.
   */
  move(options: MoveOptions, prepare: (unended: readonly string[]) => Promise<RunStart>): Promise<void>;
  /**
   * Lets a line go on that waits for an answer: once it may, its node runs again, from what `start` resolves to. Returns
   * whether it waits, or goes on already and will find this answer, too. What `start` throws fails the line.
   */
  goOn(start: () => Promise<RunStart>): boolean;
}

/** How to interrupt a visit. */
export interface InterruptOptions {
  /**
   * The tool calls that are neither aborted nor awaited: the one that asks for the interruption, and those of the sub-agents
   * that it is made in. Default: none.
   */
  readonly except?: readonly string[];
}

/** How to move. */
export interface MoveOptions extends InterruptOptions {
  /** Of the context that asks. Absent: it is made in any case. */
  readonly signal?: AbortSignal;
}
