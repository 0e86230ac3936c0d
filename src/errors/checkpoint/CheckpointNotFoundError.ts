import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quotedList } from "../quotedList.ts";
import { quoted } from "../quoted.ts";

/** The agent has no checkpoint with this id, or no checkpoints. The stored state is unchanged. */
export class CheckpointNotFoundError extends AgentPersistenceError {
  override readonly code = "checkpoint_not_found";
  /** The ids of the newest checkpoints, newest last. At most ten. */
  readonly available: readonly string[];

  constructor(
    readonly agentId: string,
    /** `undefined` if the latest checkpoint was requested. */
    readonly checkpointId: string | undefined,
    available: readonly string[],
    /** The kind of `checkpointId`. `nameCheckpoint` assigns names. */
    asked: "id" | "name" = "id",
  ) {
    const missing = checkpointId === undefined ? "no checkpoint" : `no checkpoint ${quoted(checkpointId)}`;
    const newest = available.slice(-10);
    const { empty, some } = nextSteps[asked];
    super(
      `Agent ${quoted(agentId)} has ${missing}. ${newest.length === 0 ? empty : `${some}: ${quotedList(newest)}`}.`,
    );
    this.available = newest;
  }
}

const nextSteps = {
  id: {
    empty: "It has no checkpoints, so check that it has run and that a storage is configured",
    some: "Choose one of the newest",
  },
  name: { empty: "Its checkpoints have no names", some: "Choose one of its names" },
} as const;
