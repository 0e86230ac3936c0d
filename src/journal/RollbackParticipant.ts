/** Data about one effect, which a participant stores in the log of an agent. */
export interface Note {
  /** The noted value, decoded and frozen. Validate it before use, because it is read from the storage. */
  readonly value: unknown;
  /** The tool call that made the note. `undefined` if node code made it. */
  readonly toolCallId?: string;
  /** True if the tool call has no recorded success, so that the noted effect may not have happened. */
  readonly uncertain?: true;
}

/** The input of a participant's plan. */
export interface ParticipantRequest {
  readonly agentId: string;
  readonly checkpointId: string;
  /**
   * The notes since that checkpoint that are not reverted, newest first, including those on abandoned branches. In a
   * redo, the notes since the common ancestor that are not in the history of the target.
   */
  readonly notes: readonly Note[];
  /** Set only in a redo: the notes that an earlier rollback reverted and the redo restores, oldest first. */
  readonly redone?: readonly Note[];
  /** Reads a noted or planned content by its SHA-256 in hex. `undefined` if the log does not contain it. */
  readonly content: (hash: string) => Promise<Uint8Array | undefined>;
  readonly abortSignal: AbortSignal;
}

/** The input of {@link RollbackParticipant.apply}. */
export interface StepRequest extends Omit<ParticipantRequest, "notes" | "redone"> {
  /** `stop`: `apply` throws if the step fails. `leave`: `apply` skips failing parts and returns them in its outcome. */
  readonly onFailure: "stop" | "leave";
  /** Stores contents by their SHA-256 in hex, so that `content` can read them. Durable when the promise resolves. */
  readonly keep: (contents: ReadonlyMap<string, Uint8Array>) => Promise<void>;
}

/** The steps that a participant takes in a rollback. */
export interface ParticipantPlan {
  /** The steps, in the order in which they are applied. All are stored before the first is applied. */
  readonly steps: readonly unknown[];
  /** Contents that the steps need, by their SHA-256 in hex, except contents of notes. Defaults to an empty map. */
  readonly contents?: ReadonlyMap<string, Uint8Array>;
}

export interface DescribedStep {
  /** The item that the step changes, such as the path of a file. */
  readonly subject: string;
  /** The change in a word or two, such as "write". */
  readonly change: string;
  /** SHA-256 in hex of content that others wrote and the step replaced. The log keeps it. `undefined` if none. */
  readonly replaced?: string;
}

/** The input of a comparison between notes and the current state. */
export interface ComparisonRequest {
  readonly agentId: string;
  /** The notes in the run of the newest checkpoint that are not reverted, oldest first. Includes abandoned branches. */
  readonly notes: readonly Note[];
  /** The working directory of the run. `undefined` if not recorded. */
  readonly workingDirectory?: string;
  /** Files that are already compared. Paths are absolute, or relative to `workingDirectory`. */
  readonly compared: readonly string[];
}

/** The differences between the state that the agent left and the current state. */
export interface Comparison {
  readonly changed: readonly ChangedFile[];
  /** For each item that could not be compared, the reason. Defaults to an empty list. */
  readonly notCompared?: readonly string[];
}

/** A file that others changed, deleted or created after the agent's last change. */
export interface ChangedFile {
  /** Absolute, or relative to the working directory of the run. */
  readonly path: string;
  /** SHA-256 in hex of the content or link target that the agent left. `undefined` if the agent deleted the file. */
  readonly expected?: string;
  /** SHA-256 in hex of the current content. `unreadable` if too large or not a file. `undefined` if missing. */
  readonly found?: string;
}

/** Gives a participant access to the agents of the definition in which it is installed. */
export interface ParticipantContext {
  /** The agent that was last requested or run with this definition. Defaults to the agent id of the definition. */
  readonly agentId: string;
  /** The absolute path of the directory of a file storage. Do not change files in it. */
  readonly storageFolder?: string;
  /**
   * Returns the input of `plan` or `planRedo` for a rollback from outside a run. Takes no ownership of the agent.
   *
   * @throws CheckpointNotFoundError, NotAnAncestorError
   */
  request(agentId: string, checkpointId: string, key: string): Promise<ParticipantRequest>;
  /**
   * Returns the unreverted notes in the history of a checkpoint, oldest first. Takes no ownership of the agent.
   *
   * @throws CheckpointNotFoundError, NotAnAncestorError
   */
  notesBefore(agentId: string, checkpointId: string, key: string): Promise<readonly Note[]>;
  /** Reads a content by its SHA-256 in hex. `undefined` if the log does not contain it. Takes no ownership. */
  content(agentId: string, hash: string): Promise<Uint8Array | undefined>;
}

/**
 * A resource outside the agent that is rolled back together with the agent, such as files. While the agent runs, the
 * participant notes its work with `persistence(context).note`. A rollback stores the plan before it reverts anything,
 * and then applies each step. After a crash, the rollback finishes with the stored steps.
 */
export interface RollbackParticipant {
  /** Identifies the participant and its notes. Unique among the participants of an agent. */
  readonly key: string;
  /** Tools whose effects the participant reverts. Their calls need no inverse. Defaults to an empty list. */
  readonly tools?: readonly { readonly name: string }[];
  /** Called once for each agent definition in which the participant is installed. */
  onInstall?(host: ParticipantContext): void;
  /** Plans a rollback without changing data. If it throws, the rollback rejects and changes nothing. */
  plan(request: ParticipantRequest): Promise<ParticipantPlan>;
  /**
   * Plans a redo, which is a rollback to a checkpoint on an abandoned branch. The plan first reverts `notes`, newest
   * first, and then applies `redone` again, oldest first. Without this method, the changes in `redone` stay reverted,
   * and the report lists them.
   */
  planRedo?(request: ParticipantRequest): Promise<ParticipantPlan>;
  /**
   * Applies one step. After a crash, the same step can be applied again. If this method throws, the rollback stops, and
   * the next run or rollback continues with this step. The result is stored and passed to `describe`.
   */
  apply(step: unknown, request: StepRequest): Promise<unknown>;
  /** Describes a step for the report. @param outcome The result of `apply`. */
  describe(step: unknown, outcome: unknown): DescribedStep | readonly DescribedStep[];
  /**
   * Compares the notes with the current state, for `validateCheckpoint` and `recoverTask`. Must not change data.
   * Without this method, both report that the participant was not compared.
   */
  compare?(request: ComparisonRequest): Promise<Comparison>;
}
