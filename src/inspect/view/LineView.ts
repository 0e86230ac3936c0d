/** Which line something is on: the main line, a branch of a parallel node, or a sub-agent. */
export interface LineView {
  /** Such as `both#facts`, or `both#shout/inner#x` of a branch within another. Absent: it is in none. */
  readonly branch?: string;
  /** The names of the tools that the sub-agents around it are called as, outermost first. Empty: it is in none. */
  readonly agentPath: readonly string[];
}

/** A part of a line without a jump in it: each move and each run begins another. */
export interface LaneView {
  /** Its number: what steps and checkpoints name it by. */
  readonly lane: number;
  readonly line: LineView;
  /** The lane of the line around this one. Absent: it is of the main line. */
  readonly parentLane?: number;
  /** The call that a sub-agent runs for. Absent: it is of no sub-agent. */
  readonly toolCallId?: string;
  /** The checkpoint that it begins from. Absent: it begins with nothing. */
  readonly fromId?: string;
  /** Its newest checkpoint. Absent: it has none. */
  readonly lastId?: string;
  /** What it keeps of what it begins from. */
  readonly keeps: "all" | "history" | "state" | "nothing";
  /** `open`: the agent goes on from it. `ended`: a branch or sub-agent was joined. `left`: a move or a newer run went on elsewhere. */
  readonly state: "open" | "ended" | "left";
}
