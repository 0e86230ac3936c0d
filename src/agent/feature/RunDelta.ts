import type { ModelDelta } from "../model/PromptExecutor.ts";

/**
 * A piece of an answer of the model. The pieces of one `requestId`, since its last `restart`, make up the text of the answer.
 * An executor that cannot stream gives an answer whole, in one piece, and so does a replay: a node that runs again gets a
 * recorded answer under the `requestId` that it had.
 */
export type RunDelta = (
  | ModelDelta
  | {
      /** The request has failed and is made again: its pieces so far are void. */
      readonly type: "restart";
    }
) & {
  /** The node that asked, itself or by a tool. */
  readonly nodeId: string;
  /** The path of the branch that it asked in, such as `both#facts`. Absent: it asked in none. */
  readonly branch?: string;
  /** The agent that asked: the names of the tools that led to it, outermost first. Absent: the agent itself. */
  readonly agentPath?: readonly string[];
  /** Tells the answers of a run apart, also those that come at the same time. */
  readonly requestId: string;
};

/**
 * Called for each piece, in order; not awaited. If it throws, a process warning says so, and it is not called again in
 * this run.
 */
export type OnDelta = (delta: RunDelta) => void;
