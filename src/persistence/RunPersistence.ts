import type { AgentContext } from "../agent/context/AgentContext.ts";
import type { Node, RunMoved } from "../agent/strategy/Strategy.ts";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import type { Message } from "../checkpoint/messages/Message.ts";
import type { CheckpointFilter } from "../storage/PersistenceStorageProvider.ts";
import type { CreateCheckpointOptions } from "./saving/CreateCheckpointOptions.ts";
import type { NewNote } from "./saving/noteRecord.ts";
import type { RollbackReport, RollbackOptions } from "./rollback/RollbackReport.ts";

/** The persistence of a run, bound to a context. `persistence(context)` returns it. */
export interface RunPersistence {
  /**
   * Saves a checkpoint. Durable when the promise resolves.
   *
   * @throws UnknownNodeError, InvalidInputError, AlreadyExistsError, NotSerializableError. No checkpoint is saved.
   */
  createCheckpoint<Input>(options?: CreateCheckpointOptions<Input>): Promise<AgentCheckpointData>;
  /**
   * Stops the running work, reverts the calls since the checkpoint, and continues from there. Durable when the promise
   * resolves. The context of the node is then closed, and the node's return value is discarded.
   *
   * @throws InvalidInputError, CheckpointNotFoundError, NotAnAncestorError. The agent is unchanged.
   * @throws ToolCallInDoubtError if an interrupted call may have taken effect. The error ends the run. After you settle
   *   the call and resume, the node requests the rollback again.
   */
  rollbackToCheckpoint(checkpointId: string, options?: RollbackOptions): Promise<RollbackReport>;
  /**
   * Rolls back to the latest checkpoint, except those that triggers made within the running node. See
   * {@link rollbackToCheckpoint}.
   */
  rollbackToLatestCheckpoint(options?: RollbackOptions): Promise<RollbackReport>;
  /**
   * Continues at another node. Runs no inverses, so the effects of earlier calls remain. The new checkpoint lists the
   * calls since the previous checkpoint.
   *
   * @throws UnknownNodeError, InvalidInputError, NotSerializableError. The agent is unchanged.
   */
  setExecutionPoint<Input>(options: {
    readonly agentContext?: AgentContext | undefined;
    readonly nodeId: string | Node<Input>;
    readonly input: NoInfer<Input>;
    /** Defaults to the current history. */
    readonly messageHistory?: readonly Message[] | undefined;
  }): Promise<RunMoved>;
  /**
   * Adds a value to the agent's log, for rollback participants and other features. A rollback to an earlier checkpoint
   * removes it. The value is stored with the next append. A node that runs again after a crash adds its values again,
   * because its code repeats the work that they describe. The values of a finished tool call are not added again.
   *
   * @throws NotSerializableError
   */
  note(note: NewNote): void;
  /** Resolves when all notes so far are durable. Rejects if the storage failed, because the notes may be lost. */
  durable(): Promise<void>;
  /** Returns the values that an earlier process noted in the tool call of this context, oldest first. */
  recordedNotes(key: string): readonly unknown[];
  /** Returns the unreverted values that this run noted under a key, in branches and sub-agents too, oldest first. */
  getNotes(key: string): Promise<readonly unknown[]>;
  /** Returns the checkpoints, oldest first. */
  getCheckpoints(filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]>;
  /** Returns the latest checkpoint, or `undefined` if the agent has no checkpoint. */
  getLatestCheckpoint(): Promise<AgentCheckpointData | undefined>;
}
