import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** One difference between the environment and what the checkpoint needs, and the ways to resolve it. */
export interface UnresolvedMismatch {
  readonly kind: string;
  /** The file or folder concerned; absent when the mismatch concerns neither. */
  readonly path?: string;
  /** The mismatch in words for people. */
  readonly description: string;
  /** What `onEnvironmentMismatch` may choose. */
  readonly options: readonly string[];
}

/**
 * An agent was not recovered: its environment no longer matches the checkpoint, and there is no `onEnvironmentMismatch`
 * to decide. Nothing has changed.
 */
export class EnvironmentMismatchError extends AgentPersistenceError {
  override readonly code = "environment_mismatch";

  constructor(
    readonly agentId: string,
    /** The checkpoint that the agent was to continue from. */
    readonly checkpointId: string,
    /** Every mismatch; at least one. */
    readonly mismatches: readonly UnresolvedMismatch[],
  ) {
    const lines = mismatches.map(({ description, options }) => `${description} (${options.join(", ")})`);
    super(
      `Agent ${quoted(agentId)} cannot continue from checkpoint ${checkpointId}, because its environment has changed: ` +
        `${lines.join("; ")}. Give recoverTask, or the worker, an onEnvironmentMismatch that chooses one of the options for each change.`,
    );
  }
}
