/** Something that a participant keeps in the log of an agent. */
export interface Note {
  /** As it was noted, decoded and frozen. It comes from storage: check it before you act on it. */
  readonly value: unknown;
  /** The tool call in which it was noted; absent: node code noted it. */
  readonly toolCallId?: string;
}

/** What a participant gets when it plans its part of a rollback. */
export interface ParticipantRequest {
  readonly agentId: string;
  /** The checkpoint that the agent goes back to. */
  readonly checkpointId: string;
  /** What it noted below that checkpoint, on lines that were left too, and has not taken back yet; newest first. */
  readonly notes: readonly Note[];
  /** The content of that SHA-256, in hex, which was noted or planned; `undefined` when the log does not have it. */
  readonly content: (hash: string) => Promise<Uint8Array | undefined>;
  readonly abortSignal: AbortSignal;
}

/** What a participant gets when it takes a step. */
export type StepRequest = Omit<ParticipantRequest, "notes">;

/** A participant's part of a rollback. */
export interface ParticipantPlan {
  /** In the order in which they are taken; stored before the first one is. */
  readonly steps: readonly unknown[];
  /** Contents that the steps name, by their SHA-256 in hex. Those that were noted need not be given again. Default: none. */
  readonly contents?: ReadonlyMap<string, Uint8Array>;
}

/** A step as reports show it. */
export interface DescribedStep {
  /** What it is about, such as the path of a file. */
  readonly subject: string;
  /** What becomes of it, in a word or two, such as "write". */
  readonly change: string;
}

/** What a participant may ask about the agents of the definition that it is installed in. */
export interface ParticipantContext {
  /** The agent that was asked for or run last through this definition, or else its own. */
  readonly agentId: string;
  /**
   * What a rollback to a checkpoint would give to `plan`. Owns and writes nothing.
   *
   * @throws CheckpointNotFoundError, NotAnAncestorError
   */
  request(agentId: string, checkpointId: string, key: string): Promise<ParticipantRequest>;
  /**
   * What was noted on the way to a checkpoint and not taken back, oldest first. Owns and writes nothing.
   *
   * @throws CheckpointNotFoundError, NotAnAncestorError
   */
  notesBefore(agentId: string, checkpointId: string, key: string): Promise<readonly Note[]>;
}

/**
 * Something outside the agent that goes back together with it, such as files. It notes what it does while the agent runs
 * (`persistence(context).note`); a rollback asks it for a plan before anything is taken back, stores the plan, and then
 * lets it take each step. A crash in between is finished with the stored steps.
 */
export interface RollbackParticipant {
  /** Unique among the participants of an agent, and the key of its notes. */
  readonly key: string;
  /** Tools whose effects it takes back: their calls need no inverse. Default: none. */
  readonly tools?: readonly { readonly name: string }[];
  /** Told once for each definition that it is installed in. */
  onInstall?(host: ParticipantContext): void;
  /** Decides its part of a rollback; changes nothing. What it throws refuses the rollback, and nothing has changed. */
  plan(request: ParticipantRequest): Promise<ParticipantPlan>;
  /**
   * Takes one step. It must be repeatable: a step is taken again when a crash came before its end was stored. What it
   * throws stops the rollback, and the next run or rollback goes on with this step.
   */
  apply(step: unknown, request: StepRequest): Promise<void>;
  describe(step: unknown): DescribedStep;
}
