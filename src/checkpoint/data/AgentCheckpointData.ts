import type { ModelUsage } from "../tokenUsage/ModelUsage.ts";
import type { FileChanges } from "./FileChange.ts";
import type { Message } from "../messages/Message.ts";
import type { DecisionRecord, RequirementsRecord } from "../records/lineRecords.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";

/** A tool call that finished after the parent checkpoint and before this checkpoint. */
export interface CheckpointToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** The declared effect: `none`, `idempotent`, `reversible` or `irreversible`. */
  readonly effect: string;
  /** The input as the model or the caller wrote it. */
  readonly input: unknown;
  /**
   * `moved`: the call moved the run. `lost`: the call succeeded, but its output could not be stored. `unknown`: the
   * call was in doubt, and its outcome was recorded as unknown.
   */
  readonly status: "succeeded" | "failed" | "moved" | "lost" | "unknown";
  /** Set if the call succeeded. */
  readonly output?: unknown;
  /** The error message, set if the call failed. */
  readonly error?: string;
}

/** A decision that the agent recorded with `context.recordDecision`. */
export interface CheckpointDecision {
  readonly decision: string;
  readonly reason?: string;
  readonly nodeId: string;
  /** ISO 8601. */
  readonly decidedAt: string;
}

/** A branch or sub-agent that has started and whose result the node of the checkpoint has not received yet. */
export interface CheckpointBranch {
  /** The path of a branch, like `branch` of {@link AgentCheckpointData}, or the tool that calls the sub-agent. */
  readonly path: string;
  /** The node that runs next. `finish` if the branch or sub-agent has finished. */
  readonly nodeId: string;
  /** The input of `nodeId`, or the output of a finished branch or sub-agent. */
  readonly lastInput: unknown;
  /** The message history at the start of `nodeId`. */
  readonly messageHistory: readonly Message[];
  /** `waiting`: all work of the branch waits for answers. `completed`: the branch has finished, but others have not. */
  readonly status: "in_progress" | "waiting" | "completed";
  readonly output?: unknown;
}

/** A point from which a run can continue, with decoded and frozen values. Large values are built on first use. */
export interface AgentCheckpointData {
  readonly checkpointId: string;
  /** The name from `nameCheckpoint`, which can be used in place of the id. `undefined` without a name. */
  readonly name?: string;
  readonly agentId: string;
  readonly runId: string;
  /** The preceding checkpoint. `undefined` for the first checkpoint of an agent. */
  readonly parentId?: string;
  /** Strictly increasing per agent, from 1. */
  readonly version: number;
  /** ISO 8601. */
  readonly createdAt: string;
  /** The path of the node that runs next. `finish` at the end of a run. */
  readonly nodeId: string;
  /** The input of the run. Set only in the first checkpoint of a run. */
  readonly runInput?: unknown;
  /** The input of the next node. At the end of a run, the output of the run. */
  readonly lastInput: unknown;
  /** The type of `lastInput` as JSON Schema text, if known. */
  readonly lastInputType?: string;
  /** True if no edge matched the output of `nodeId`, which is `lastInput`. The run evaluates only the edges again. */
  readonly unresolved?: boolean;
  /** The branch of a parallel node, such as `both#facts` or `both#shout/inner#x`. `undefined` outside branches. */
  readonly branch?: string;
  /** The names of the tools that call the sub-agent of this checkpoint, outermost first. Empty for the agent itself. */
  readonly agentPath: readonly string[];
  /**
   * The branches and sub-agents whose results the node has not received yet, in start order, even if they have
   * finished. The newest checkpoint contains their current states. `undefined` if there are none.
   */
  readonly branches?: readonly CheckpointBranch[];
  /** The id of the checkpoint at which the finished branches started. Set if `merge` of `nodeId` runs next. */
  readonly joined?: string;
  /** The history at the start of the next node. A message that is the input of the node is only in `lastInput`. */
  readonly messageHistory: readonly Message[];
  readonly storage: Readonly<Record<string, unknown>>;
  readonly model?: string;
  readonly modelParameters?: Readonly<Record<string, unknown>>;
  /** The names of the tools that the model can call. */
  readonly tools: readonly string[];
  readonly iteration: number;
  /** The tokens of all model requests of the run so far, even of abandoned branches. `undefined` if unknown. */
  readonly usage?: ModelUsage;
  /** `completed` or `cancelled` at the end of a run, `completed` at the end of a branch or sub-agent. */
  readonly status: "in_progress" | "completed" | "cancelled";
  /** 0 to 100. `undefined` if not set. */
  readonly progress?: number;
  /** One line for people, from `context.setProgress`. `undefined` if not set. */
  readonly progressSummary?: string;
  /** The calls that finished since the parent checkpoint, in the order of their ends. */
  readonly toolCalls: readonly CheckpointToolCall[];
  /** The ids of the calls that the rollback to this checkpoint reverted. */
  readonly revertedToolCallIds?: readonly string[];
  /** The operation that created the checkpoint. `undefined` if the run itself created the checkpoint. */
  readonly move?: "rollback" | "execution_point" | "branch" | "fork" | "edit" | "migration";
  /** The author of an edit, as stated by the caller and not verified. */
  readonly by?: string;
  readonly reason?: string;
  /**
   * The node execution that continues here. Its tool calls keep their ids. `version` is the version of the checkpoint
   * before it, and `ordinal` counts node executions since then. `undefined` if a new execution starts.
   */
  readonly visit?: readonly [version: number, ordinal: number];
  /**
   * Why the checkpoint was made: `asked_for`, or the name of a trigger other than `afterNode()`. `undefined` for the
   * start or end of a run, the end of a node, or a `move`.
   */
  readonly trigger?: string;
  /** The ids of the calls since the previous checkpoint whose effects remain. Set after `setExecutionPoint`. */
  readonly standingToolCallIds?: readonly string[];
  readonly decisions: readonly CheckpointDecision[];
  /** The file changes that a workspace recorded between the parent and this checkpoint. */
  readonly fileChanges: FileChanges;
  readonly recoveryInfo: {
    readonly resumePoint: string;
    /** Required files, relative to the working directory. */
    readonly requiredContext: readonly string[];
    /** SHA-256 in hex of each required file at that time. `null` for a missing file. `undefined` if not checked. */
    readonly fileHashes?: Readonly<Record<string, string | null>>;
    /** The working directory of the run. `undefined` without a configured `environment`. */
    readonly workingDirectory?: string;
    /** The required value by name, such as `{ node: ">=20.19" }`. */
    readonly environment: Readonly<Record<string, string>>;
  };
  readonly strategyFingerprint?: string;
  readonly formatVersion: number;
  /**
   * The checksum of the stored append, which also covers all earlier appends. Empty in the result of
   * `createCheckpoint`, and if the storage keeps no checksums.
   */
  readonly checksum: string;
}

export function recoveryInfo(
  resumePoint: string,
  { files = [], environment = {}, directory, hashes }: Partial<RequirementsRecord> = {},
): AgentCheckpointData["recoveryInfo"] {
  return {
    resumePoint,
    requiredContext: files,
    ...(hashes && Object.keys(hashes).length > 0 && { fileHashes: hashes }),
    ...(directory !== undefined && { workingDirectory: directory }),
    environment,
  };
}

export function checkpointDecisions(decisions: readonly DecisionRecord[]): AgentCheckpointData["decisions"] {
  return decisions.map(({ node: nodeId, at, decision, reason }) =>
    withoutUndefined({ decision, reason, nodeId, decidedAt: new Date(at).toISOString() }),
  );
}
