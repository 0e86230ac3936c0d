import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/** The agent has no checkpoint with this id, or none at all. Nothing has changed. */
export class CheckpointNotFoundError extends AgentPersistenceError {
  override readonly code = "checkpoint_not_found";
  /** The ids of the newest checkpoints, the newest last; at most ten. */
  readonly available: readonly string[];

  constructor(
    readonly agentId: string,
    /** `undefined` when you asked for the latest checkpoint. */
    readonly checkpointId: string | undefined,
    available: readonly string[],
    /** What names a checkpoint. A name is one that `nameCheckpoint` gave. */
    asked: "id" | "name" = "id",
  ) {
    const missing = checkpointId === undefined ? "no checkpoint" : `no checkpoint ${quoted(checkpointId)}`;
    const newest = available.slice(-10);
    const { none, some } = nextSteps[asked];
    super(`Agent ${quoted(agentId)} has ${missing}. ${newest.length === 0 ? none : `${some}: ${quotedList(newest)}`}.`);
    this.available = newest;
  }
}

const nextSteps = {
  id: {
    none: "It has none at all: check that it has run, and that a storage is configured",
    some: "Choose one of the newest",
  },
  name: { none: "None of its checkpoints has a name", some: "Choose one of its names" },
} as const;
