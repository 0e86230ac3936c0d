import type { AgentContext } from "../agent/context/AgentContext.ts";
import type { Node } from "../agent/strategy/Strategy.ts";
import type { RunMoved } from "../agent/context/RunMoved.ts";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import type { Message } from "../checkpoint/messages/Message.ts";
import type { CheckpointFilter } from "../storage/PersistenceStorageProvider.ts";
import type { CreateCheckpointOptions } from "./record/CreateCheckpointOptions.ts";
import type { NewNote } from "./record/noteRecord.ts";
import type { RollbackOptions } from "./rollback/historyOnly.ts";
import type { RollbackReport } from "./rollback/RollbackReport.ts";

/** Durability inside a run, bound to a context. */
export interface RunPersistence {
  /**
   * Saves a checkpoint; durable when it resolves.
   *
   * @throws UnknownNodeError, InvalidInputError, AlreadyExistsError, NotSerializableError; nothing is saved then.
   */
  createCheckpoint<Input>(options?: CreateCheckpointOptions<Input>): Promise<AgentCheckpointData>;
  /**
   * Ends what is in flight, reverts the calls since the checkpoint, and continues from it. Durable when it resolves; the
   * node's context is closed then, and what the node returns is discarded.
   *
   * @throws InvalidInputError, CheckpointNotFoundError, NotAnAncestorError; nothing has changed then.
   * @throws ToolCallInDoubtError when an interrupted call may have had its effect; the run ends with it. Settle the call and
   * resume: the node requests the rollback again.
   */
  rollbackToCheckpoint(checkpointId: string, options?: RollbackOptions): Promise<RollbackReport>;
  /** Like {@link rollbackToCheckpoint}, to the latest checkpoint. */
  rollbackToLatestCheckpoint(options?: RollbackOptions): Promise<RollbackReport>;
  /**
   * Continues at another node. No inverse runs; the checkpoint's record names the calls since the checkpoint before it whose
   * effects remain.
   *
   * @throws UnknownNodeError, InvalidInputError, NotSerializableError; nothing has changed then.
   */
  setExecutionPoint<Input>(options: {
    readonly agentContext?: AgentContext | undefined;
    readonly nodeId: string | Node<Input>;
    readonly input: NoInfer<Input>;
    /** Absent: the history stays. */
    readonly messageHistory?: readonly Message[] | undefined;
  }): Promise<RunMoved>;
  /**
   * Stores a value in the agent's log, on the lane of this context: for rollback participants and other features that keep
   * their own records. It is stored with the next append.
   *
   * @throws NotSerializableError
   */
  note(note: NewNote): void;
  /** Resolves when everything noted so far is durable; rejects if that is uncertain. */
  durable(): Promise<void>;
  /**
   * The values that an earlier process noted in the tool call of this context, oldest first. Empty unless the call is made
   * again, and outside of tool calls.
   */
  recordedNotes(key: string): readonly unknown[];
  /** The values noted under a key in this run and not rolled back, oldest first; also by earlier processes. */
  getNotes(key: string): Promise<readonly unknown[]>;
  /** Oldest first. */
  getCheckpoints(filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]>;
  /** `undefined` when there is none. */
  getLatestCheckpoint(): Promise<AgentCheckpointData | undefined>;
}
