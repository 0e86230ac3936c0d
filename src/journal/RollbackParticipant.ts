/** A value that a participant stores in the log of an agent. */
export interface Note {
  /** The noted value, decoded and frozen. It comes from storage: validate it before you act on it. */
  readonly value: unknown;
  /** The tool call in which it was noted; absent: node code noted it. */
  readonly toolCallId?: string;
  /** That call has no recorded success: what was noted may or may not have happened. Absent: it succeeded, or there is no call. */
  readonly uncertain?: true;
}

/** What a participant gets when it plans its part of a rollback. */
export interface ParticipantRequest {
  readonly agentId: string;
  /** The target of the rollback. */
  readonly checkpointId: string;
  /**
   * Its notes below that checkpoint that are not reverted yet, abandoned lanes included; newest first. If the checkpoint is on a branch
   * that was left, its notes below the common ancestor that do not lead to the checkpoint.
   */
  readonly notes: readonly Note[];
  /**
   * Only if the checkpoint is on a branch that was left: the notes on the way to it from the common ancestor that an earlier rollback
   * reverted, oldest first.
   */
  readonly redone?: readonly Note[];
  /** Reads a noted or planned content by its SHA-256 in hex; `undefined` when the log does not have it. */
  readonly content: (hash: string) => Promise<Uint8Array | undefined>;
  readonly abortSignal: AbortSignal;
}

/** What a participant gets when it applies a step. */
export interface StepRequest extends Omit<ParticipantRequest, "notes" | "redone"> {
  /**
   * `stop`: if the step cannot be applied, `apply` throws. `leave`: `apply` leaves what it cannot do, and says so in its
   * outcome.
   */
  readonly onFailure: "stop" | "leave";
  /** Stores contents by their SHA-256 in hex, such as what the step is about to replace. Durable when it resolves; `content` reads them. */
  readonly keep: (contents: ReadonlyMap<string, Uint8Array>) => Promise<void>;
}

/** A participant's part of a rollback. */
export interface ParticipantPlan {
  /** In the order in which they are applied; stored before the first one is applied. */
  readonly steps: readonly unknown[];
  /** Contents that the steps name, by their SHA-256 in hex. Those that were noted need not be given again. Default: none. */
  readonly contents?: ReadonlyMap<string, Uint8Array>;
}

/** A step as reports show it. */
export interface DescribedStep {
  /** What it is about, such as the path of a file. */
  readonly subject: string;
  /** What the step does, in a word or two, such as "write". */
  readonly change: string;
  /** SHA-256, in hex, of what others had made and the step replaced; the log keeps it. Absent: there was no such content. */
  readonly replaced?: string;
}

/** What a participant gets when it compares its notes with what is there now. */
export interface ComparisonRequest {
  readonly agentId: string;
  /** Its notes in the run of the newest checkpoint that are not reverted, abandoned lanes included; oldest first. */
  readonly notes: readonly Note[];
  /** Where the run worked. Absent: not recorded. */
  readonly workingDirectory?: string;
  /** Files that are compared already, relative to that directory or absolute. */
  readonly compared: readonly string[];
}

/** How what is there now differs from what the agent left. */
export interface Comparison {
  /** Files that are not as the agent left them. */
  readonly changed: readonly ChangedFile[];
  /** What could not be compared, each with the reason. Default: nothing. */
  readonly notCompared?: readonly string[];
}

/** A file that others changed, deleted or created since the agent last changed it. */
export interface ChangedFile {
  /** Absolute, or relative to the working directory of the run. */
  readonly path: string;
  /** SHA-256 of what the agent left, in hex; for a link that of its target. Absent: the agent deleted the file. */
  readonly expected?: string;
  /** What is there now: a SHA-256 in hex, or `unreadable` for what is too large or neither a file nor a link. Absent: nothing. */
  readonly found?: string;
}

/** What a participant may ask about the agents of the definition that it is installed in. */
export interface ParticipantContext {
  /** The agent that was asked for or run last through this definition, or else its own. */
  readonly agentId: string;
  /** The folder that the storage keeps its files in, as an absolute path: leave it alone. Absent: there is none. */
  readonly storageFolder?: string;
  /**
   * What a rollback from outside a run to a checkpoint would give to `plan` or `planRedo`. Owns and writes nothing.
   *
   * @throws CheckpointNotFoundError, NotAnAncestorError
   */
  request(agentId: string, checkpointId: string, key: string): Promise<ParticipantRequest>;
  /**
   * The notes on the way to a checkpoint that are not reverted, oldest first. Owns and writes nothing.
   *
   * @throws CheckpointNotFoundError, NotAnAncestorError
   */
  notesBefore(agentId: string, checkpointId: string, key: string): Promise<readonly Note[]>;
  /** A noted, planned or kept content by its SHA-256 in hex; `undefined`: the log does not have it. Owns and writes nothing. */
  content(agentId: string, hash: string): Promise<Uint8Array | undefined>;
}

/**
 * Something outside the agent that is rolled back together with it, such as files. It notes what it does while the agent
 * runs (`persistence(context).note`). A rollback asks it for a plan before anything is reverted, stores the plan, and then
 * applies each step. After a crash, the rollback finishes with the stored steps.
 */
export interface RollbackParticipant {
  /** Unique among the participants of an agent, and the key of its notes. */
  readonly key: string;
  /** Tools whose effects it reverts: their calls need no inverse. Default: none. */
  readonly tools?: readonly { readonly name: string }[];
  /** Called once for each definition that it is installed in. */
  onInstall?(host: ParticipantContext): void;
  /** Plans its part of a rollback and changes nothing. If it throws, the rollback is refused and nothing has changed. */
  plan(request: ParticipantRequest): Promise<ParticipantPlan>;
  /**
   * Like `plan`, for a redo: a rollback to a checkpoint on a branch that was left. It plans to revert `notes`, newest first, and then to
   * make the changes of `redone` again, oldest first. Absent: these changes stay reverted, and the report says so.
   */
  planRedo?(request: ParticipantRequest): Promise<ParticipantPlan>;
  /**
   * Applies one step. It must be repeatable: if a crash comes before its end is stored, the step is applied again. If it
   * throws, the rollback stops, and the next run or rollback continues with this step. What it resolves with is stored, and
   * `describe` gets it; `undefined`: nothing to add.
   */
  apply(step: unknown, request: StepRequest): Promise<unknown>;
  /** What a step did, for the report. @param outcome what `apply` resolved with. */
  describe(step: unknown, outcome: unknown): DescribedStep | readonly DescribedStep[];
  /**
   * Compares its notes with what is there now, for `validateCheckpoint` and `recoverTask`; changes nothing. Absent: those say
   * that it was not checked.
   */
  compare?(request: ComparisonRequest): Promise<Comparison>;
}
