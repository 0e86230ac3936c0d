/** A line of execution, which is the main line, a branch of a parallel node or a sub-agent. */
export interface LineView {
  /**
   * The path of the branch, such as `both#facts` or `both#shout/inner#x` for a nested branch. Omitted outside of
   * branches.
   */
  readonly branch?: string;
  /** The tool names of the enclosing sub-agents, outermost first. Empty outside of sub-agents. */
  readonly agentPath: readonly string[];
}

/** A consecutive part of a line. Each move and each run starts a new lane. */
export interface LaneView {
  /** The number by which steps and checkpoints refer to the lane. */
  readonly lane: number;
  readonly line: LineView;
  /** The lane of the enclosing line. Omitted for the main line. */
  readonly parentLane?: number;
  /** The call that runs the sub-agent. Omitted outside of sub-agents. */
  readonly toolCallId?: string;
  /** The checkpoint that the lane starts from. Omitted if the lane starts empty. */
  readonly fromId?: string;
  /** The newest checkpoint. Omitted if the lane has no checkpoint. */
  readonly lastId?: string;
  /** The part of the earlier state that the lane keeps. */
  readonly keeps: "all" | "history" | "state" | "nothing";
  /**
   * `open` if the agent continues from the lane, `ended` if a branch or sub-agent was joined, `left` if a move or a
   * newer run abandoned the lane.
   */
  readonly state: "open" | "ended" | "left";
}
