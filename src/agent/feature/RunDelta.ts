import type { ModelDelta } from "../model/PromptExecutor.ts";

/**
 * A part of a model response. The parts of one `requestId` since its last `restart` make up the text of the response.
 * An executor that cannot stream sends a response as one part. A replay sends a recorded response as one part, with the
 * original `requestId`.
 */
export type RunDelta = (
  | ModelDelta
  | {
      /** The request failed and is retried. All parts sent so far are void. */
      readonly type: "restart";
    }
) & {
  /** The node that makes the request, directly or through a tool. */
  readonly nodeId: string;
  /** The path of the branch that makes the request, such as `both#facts`. `undefined` outside branches. */
  readonly branch?: string;
  /** The tool names that lead to the sub-agent, outermost first. `undefined` for the agent of the run. */
  readonly agentPath?: readonly string[];
  /** Identifies the response within the run, also if responses are concurrent. */
  readonly requestId: string;
};

/**
 * Called for each part in order, without waiting. If it throws, a process warning is emitted, and it is not called
 * again in this run.
 */
export type OnDelta = (delta: RunDelta) => void;
