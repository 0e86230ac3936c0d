import type { ModelUsage } from "../status/ModelUsage.ts";
import type { FileChanges } from "./FileChange.ts";
import type { Message } from "../messages/Message.ts";

/** A tool call that ended between a checkpoint's parent and the checkpoint. */
export interface CheckpointToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** The declared effect: `none`, `idempotent`, `reversible` or `irreversible`. */
  readonly effect: string;
  /** As the model or the caller wrote it. */
  readonly input: unknown;
  /**
   * `moved`: the call itself moved the run. `lost`: it succeeded, and its output could not be stored. `unknown`: it was in
   * doubt, and settled as not known.
   */
  readonly status: "succeeded" | "failed" | "moved" | "lost" | "unknown";
  /** Only of a call that succeeded. */
  readonly output?: unknown;
  /** Only of a call that failed: the message of its error. */
  readonly error?: string;
}

/** Something the agent decided, by `context.recordDecision`. */
export interface CheckpointDecision {
  readonly decision: string;
  readonly reason?: string;
  readonly nodeId: string;
  /** ISO 8601. */
  readonly decidedAt: string;
}

/** A branch or a sub-agent that is nested in the line of a checkpoint and has not been joined. */
export interface CheckpointBranch {
  /** As in `branch` of the line's own checkpoints; of a sub-agent the name of its tool. */
  readonly path: string;
  /** The node that it runs next; `finish` once it has ended. */
  readonly nodeId: string;
  /** What that node gets; once the line has ended its output. */
  readonly lastInput: unknown;
  /** What that node finds before it does anything. */
  readonly messageHistory: readonly Message[];
  /** `waiting`: a request has no answer, and nothing else of the line goes on. `completed`: it has ended, and waits for the others. */
  readonly status: "in_progress" | "waiting" | "completed";
  /** Absent until the line has ended. */
  readonly output?: unknown;
}

/**
 * A point to continue from: which node runs next, and with which input. Values are decoded and
 * frozen; large ones are built when they are first read.
 */
export interface AgentCheckpointData {
  readonly checkpointId: string;
  /** The name that `nameCheckpoint` gave it, which stands for its id wherever one is taken. Absent: it has none. */
  readonly name?: string;
  readonly agentId: string;
  readonly runId: string;
  /** The checkpoint it follows; absent for an agent's first. */
  readonly parentId?: string;
  /** Strictly increasing per agent, from 1. */
  readonly version: number;
  /** ISO 8601. */
  readonly createdAt: string;
  /** The node that runs next, as a path; `finish` at the end of a run. */
  readonly nodeId: string;
  /** What the run was given; only in the first checkpoint of a run. */
  readonly runInput?: unknown;
  /** What that node is about to get; at the end of a run its output. */
  readonly lastInput: unknown;
  /** The type of `lastInput` as JSON Schema text, when it was stated. */
  readonly lastInputType?: string;
  /** True when `lastInput` is the output of `nodeId` and only its edges are to be evaluated. */
  readonly unresolved?: boolean;
  /**
   * The branch of a parallel node whose checkpoint this is, such as `both#facts`, or `both#shout/inner#x` of one within
   * another. Absent: it is in none.
   */
  readonly branch?: string;
  /** Which sub-agent this is a checkpoint of: the names of the tools that the agents are called as, outermost first. Empty: the agent itself. */
  readonly agentPath: readonly string[];
  /**
   * The branches and sub-agents that were nested directly in this checkpoint's line when it was made, those that had ended
   * included, in the order in which they began. Of the newest checkpoint of a line those of now. Absent: none were.
   */
  readonly branches?: readonly CheckpointBranch[];
  /** The id of the checkpoint at which the branches began that were joined here: `merge` of `nodeId` runs next. Absent: none were. */
  readonly joined?: string;
  /**
   * What the node that runs next finds before it does anything. It lacks the newest user or tool message as long as that is
   * the node's input: look for it in `lastInput`.
   */
  readonly messageHistory: readonly Message[];
  /** The typed storage by key. */
  readonly storage: Readonly<Record<string, unknown>>;
  readonly model?: string;
  readonly modelParameters?: Readonly<Record<string, unknown>>;
  /** Names of the tools the model may call. */
  readonly tools: readonly string[];
  /** Nodes completed so far. */
  readonly iteration: number;
  /** The tokens of all model requests of the run so far, those on abandoned lanes included. Absent: unknown. */
  readonly usage?: ModelUsage;
  /** `completed` or `cancelled` at the end of a run, `completed` at the end of a branch or a sub-agent, else `in_progress`. */
  readonly status: "in_progress" | "completed" | "cancelled";
  /** 0 to 100; absent when none was set. */
  readonly progress?: number;
  /** One line for people, by `context.setProgress`; absent when none was given. */
  readonly progressSummary?: string;
  /** Those that ended between the parent and this checkpoint, in the order of their ends. */
  readonly toolCalls: readonly CheckpointToolCall[];
  /** Ids of calls that the move leading here reverted. Absent: none. */
  readonly revertedToolCallIds?: readonly string[];
  /** How the run came here, when it was not by a step. Absent: by a step. */
  readonly move?: "rollback" | "execution_point" | "branch" | "fork" | "edit" | "migration";
  /** Who made the edit that this checkpoint is, as the caller said. Not trusted. Absent: it is no edit. */
  readonly by?: string;
  /** Why the edit was made. Absent: it is no edit. */
  readonly reason?: string;
  /**
   * Which visit of its node this continues, so that its tool calls keep their ids: the version of the checkpoint that the
   * visit followed, and visits since. Absent: a visit of its own begins here.
   */
  readonly visit?: readonly [version: number, ordinal: number];
  /** Why it was made: `asked_for`, or the name of a trigger other than `afterNode()`. Absent: at the start or end of a run, after a node, or by a move. */
  readonly trigger?: string;
  /** For an execution point: ids of calls since the checkpoint before, whose effects it left standing. Absent: none. */
  readonly standingToolCallIds?: readonly string[];
  /** Of the run so far. */
  readonly decisions: readonly CheckpointDecision[];
  /** What a workspace noted between the parent and this checkpoint, as far as it came to something. */
  readonly fileChanges: FileChanges;
  /** What a recovery checks before the run continues. */
  readonly recoveryInfo: {
    /** The node that runs next. */
    readonly resumePoint: string;
    /** Files that must be there, relative to the working directory. */
    readonly requiredContext: readonly string[];
    /** SHA-256 of each of them in hex, when the checkpoint was saved; `null`: it was not there. Absent: not examined. */
    readonly fileHashes?: Readonly<Record<string, string | null>>;
    /** Where the run worked. Absent: there was no `environment` to ask. */
    readonly workingDirectory?: string;
    /** Name to what it must be, such as `{ node: ">=20.19" }`. */
    readonly environment: Readonly<Record<string, string>>;
  };
  readonly strategyFingerprint?: string;
  readonly formatVersion: number;
  /** Of the stored append; through its `prev` it commits to all before. Empty where a storage keeps none, and in what `createCheckpoint` returns. */
  readonly checksum: string;
}
