import { AgentPersistenceError, quoted } from "./AgentPersistenceError.ts";

/**
 * How a sealed log was changed. `removed`: an append or its content is missing. `truncated`: the end of the log is
 * missing. `unsealed`: an append has no valid seal but must have one.
 */
export type SealChangeKind = "edited" | "removed" | "inserted" | "reordered" | "truncated" | "unsealed";

/** A difference between a log and its seals. */
export interface SealChange {
  readonly kind: SealChangeKind;
  /** The position of the append. For `removed` and `truncated`, the position that the first missing append had. */
  readonly position: number;
}

/** A sealed log does not match its seals, because someone without the key changed it. The log rejects appends. */
export class SealBrokenError extends AgentPersistenceError {
  override readonly code = "seal_broken";
  readonly kind: SealChangeKind;
  /** The position of the first changed append. */
  readonly position: number;

  constructor(
    /** The id of the agent, thread or session. */
    readonly agentId: string,
    { kind, position }: SealChange,
  ) {
    super(
      `The log of agent ${quoted(agentId)} was changed: entry ${position} ${phrases[kind]}. ` +
        `Find out who changed the storage, and restore it from a backup.`,
    );
    this.kind = kind;
    this.position = position;
  }
}

const phrases: Readonly<Record<SealChangeKind, string>> = {
  edited: "was edited",
  removed: "was removed",
  inserted: "was inserted",
  reordered: "was moved",
  truncated: "and all later entries are missing",
  unsealed: "has no valid seal",
};
