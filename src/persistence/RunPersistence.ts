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

/** Durability inside a run, bound to the context it was asked from. */
export interface RunPersistence {
  /**
   * Saves a checkpoint; durable when it resolves.
   *
   * @throws UnknownNodeError, InvalidInputError, AlreadyExistsError, NotSerializableError; nothing is saved then.
   */
  createCheckpoint<Input>(options?: CreateCheckpointOptions<Input>): Promise<AgentCheckpointData>;
  /**
   * Ends what is in flight, takes back what was done since the checkpoint, and goes on from it. Durable when it resolves;
   * the node's context is closed then and what the node returns is discarded.
   *
   * @throws InvalidInputError, CheckpointNotFoundError, NotAnAncestorError; nothing has changed then.
   * @throws ToolCallInDoubtError, with which the run ends, when a call that was cut short may have had its effect. Settle it
   * and resume: the rollback is asked for again.
   */
  rollbackToCheckpoint(checkpointId: string, options?: RollbackOptions): Promise<RollbackReport>;
  /** {@link rollbackToCheckpoint} to the newest one. */
  rollbackToLatestCheckpoint(options?: RollbackOptions): Promise<RollbackReport>;
  /**
   * Goes on at another node. No inverse is run; the checkpoint's record says which effects since the checkpoint before it
   * were left standing.
   *
   * @throws UnknownNodeError, InvalidInputError, NotSerializableError; nothing has changed then.
   */
  setExecutionPoint<Input>(options: {
    readonly agentContext?: AgentContext | undefined;
    readonly nodeId: string | Node<Input>;
    readonly input: NoInfer<Input>;
    /** Absent: the history stays as it is. */
    readonly messageHistory?: readonly Message[] | undefined;
  }): Promise<RunMoved>;
  /**
   * Keeps something in the agent's log, on the line of this context: for what goes back with the agent, or keeps an
   * account of its own. It is stored together with what comes next.
   *
   * @throws NotSerializableError
   */
  note(note: NewNote): void;
  /** Resolves when everything noted so far is durable; rejects when it may not be. */
  durable(): Promise<void>;
  /**
   * The values that a process which ended before noted in the tool call of this context, oldest first: the call is made
   * again. Empty for a call that is made for the first time, and outside of tool calls.
   */
  recordedNotes(key: string): readonly unknown[];
  /** Oldest first. */
  getCheckpoints(filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]>;
  /** `undefined` when there is none. */
  getLatestCheckpoint(): Promise<AgentCheckpointData | undefined>;
}
