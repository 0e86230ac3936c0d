/** A value that a participant stores in the log of an agent. */
export interface Note {
  /** The noted value, decoded and frozen. Validate the value before you use it, because it comes from the storage. */
  readonly value: unknown;
  /** The tool call that made the note. `undefined` if node code made it. */
  readonly toolCallId?: string;
  /** True if that call has no recorded success. It is then uncertain whether the noted effect happened. */
  readonly uncertain?: true;
}

/** The input of a participant's plan. */
export interface ParticipantRequest {
  readonly agentId: string;
  /** The target of the rollback. */
  readonly checkpointId: string;
  /**
   * The participant's notes since that checkpoint that are not reverted, newest first. Includes notes on abandoned
   * lanes. In a redo, the notes since the common ancestor that are not in the history of the target.
   */
  readonly notes: readonly Note[];
  /** Set only in a redo: the notes that an earlier rollback reverted and the redo restores, oldest first. */
  readonly redone?: readonly Note[];
  /** Reads a noted or planned content by its SHA-256 in hex. Returns `undefined` if the log does not have it. */
  readonly content: (hash: string) => Promise<Uint8Array | undefined>;
  readonly abortSignal: AbortSignal;
}

/** The input of a step. */
export interface StepRequest extends Omit<ParticipantRequest, "notes" | "redone"> {
  /** `stop`: `apply` throws if the step fails. `leave`: `apply` skips failing parts and reports them in its outcome. */
  readonly onFailure: "stop" | "leave";
  /** Stores contents by their SHA-256 in hex, for `content` to read. Durable when the promise resolves. */
  readonly keep: (contents: ReadonlyMap<string, Uint8Array>) => Promise<void>;
}

/** A participant's part of a rollback. */
export interface ParticipantPlan {
  /** The steps, in the order in which they are applied. All steps are stored before the first step is applied. */
  readonly steps: readonly unknown[];
  /**
   * Contents to which the steps refer, by their SHA-256 in hex. Contents from notes need not be included. Defaults to
   * an empty map.
   */
  readonly contents?: ReadonlyMap<string, Uint8Array>;
}

/** A step in reports. */
export interface DescribedStep {
  /** The subject of the step, such as the path of a file. */
  readonly subject: string;
  /** The action of the step in a word or two, such as "write". */
  readonly change: string;
  /**
   * SHA-256 in hex of the content that the step replaced, if others wrote this content. The log keeps the replaced
   * content. `undefined` if the step replaced no content of others.
   */
  readonly replaced?: string;
}

/** The input of a comparison between notes and the current state. */
export interface ComparisonRequest {
  readonly agentId: string;
  /** The notes in the run of the newest checkpoint that are not reverted, oldest first. Includes abandoned lanes. */
  readonly notes: readonly Note[];
  /** The working directory of the run. `undefined` if not recorded. */
  readonly workingDirectory?: string;
  /** Files that are already compared, relative to that directory or absolute. */
  readonly compared: readonly string[];
}

/** The differences between the state that the agent left and the current state. */
export interface Comparison {
  readonly changed: readonly ChangedFile[];
  /** Why items could not be compared. Defaults to an empty list. */
  readonly notCompared?: readonly string[];
}

/** A file that others changed, deleted or created since the agent last changed it. */
export interface ChangedFile {
  /** Absolute, or relative to the working directory of the run. */
  readonly path: string;
  /** SHA-256 in hex of the content or link target that the agent left. `undefined` if the agent deleted the file. */
  readonly expected?: string;
  /** SHA-256 in hex of the current content. `unreadable` if too large or not a file. `undefined` if missing. */
  readonly found?: string;
}

/** Access to the agents of the definition in which a participant is installed. */
export interface ParticipantContext {
  /** The agent that was last requested or run with this definition. Defaults to the agent id of the definition. */
  readonly agentId: string;
  /** The absolute path of the directory with the files of the storage, if any. Do not change files there. */
  readonly storageFolder?: string;
  /**
   * Returns the input of `plan` or `planRedo` for a rollback from outside a run. Only reads, without ownership of the
   * agent.
   *
   * @throws CheckpointNotFoundError, NotAnAncestorError
   */
  request(agentId: string, checkpointId: string, key: string): Promise<ParticipantRequest>;
  /**
   * Returns the notes in the history of a checkpoint that are not reverted, oldest first. Only reads, without ownership
   * of the agent.
   *
   * @throws CheckpointNotFoundError, NotAnAncestorError
   */
  notesBefore(agentId: string, checkpointId: string, key: string): Promise<readonly Note[]>;
  /**
   * Returns a noted, planned or kept content by its SHA-256 in hex, or `undefined` if the log does not have it. Only
   * reads, without ownership of the agent.
   */
  content(agentId: string, hash: string): Promise<Uint8Array | undefined>;
}

/**
 * A resource outside the agent that is rolled back together with the agent, such as files. While the agent runs, the
 * participant notes its work with `persistence(context).note`. A rollback requests a plan before the first revert,
 * stores the plan, and then applies each step. After a crash, the rollback finishes with the stored steps.
 */
export interface RollbackParticipant {
  /** A key that is unique among the participants of an agent. The notes of the participant have the same key. */
  readonly key: string;
  /** Tools whose effects the participant reverts. Their calls need no inverse. Defaults to an empty list. */
  readonly tools?: readonly { readonly name: string }[];
  /** Called once for each definition that the participant is installed in. */
  onInstall?(host: ParticipantContext): void;
  /** Plans a rollback without changing data. If it throws, the rollback rejects and the agent is unchanged. */
  plan(request: ParticipantRequest): Promise<ParticipantPlan>;
  /**
   * Plans a redo, which is a rollback to a checkpoint on an abandoned branch. The plan first reverts `notes`, newest
   * first. It then applies the changes of `redone` again, oldest first. Without this method, these changes stay
   * reverted, and the report lists them.
   */
  planRedo?(request: ParticipantRequest): Promise<ParticipantPlan>;
  /**
   * Applies one step. Must be repeatable: if the process crashes before the outcome is stored, the step runs again. If
   * this method throws, the rollback stops, and the next run or rollback continues with this step. The resolved value
   * is stored and passed to `describe`.
   */
  apply(step: unknown, request: StepRequest): Promise<unknown>;
  /** Describes a step for the report. @param outcome the resolved value of `apply`. */
  describe(step: unknown, outcome: unknown): DescribedStep | readonly DescribedStep[];
  /**
   * Compares the notes with the current state, for `validateCheckpoint` and `recoverTask`. Must not change data.
   * Without this method, both report that the participant was not compared.
   */
  compare?(request: ComparisonRequest): Promise<Comparison>;
}
