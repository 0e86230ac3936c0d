import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** One difference between the environment and the checkpoint, with the ways to resolve it. */
export interface UnresolvedMismatch {
  readonly kind: string;
  /** The file or directory concerned. Omitted for other mismatches. */
  readonly path?: string;
  /** A description for people. */
  readonly description: string;
  /** The values that `onEnvironmentMismatch` may return. */
  readonly options: readonly string[];
}

/**
 * Recovery stopped because the environment does not match the checkpoint and `onEnvironmentMismatch` is not configured.
 * The stored state is unchanged.
 */
export class EnvironmentMismatchError extends AgentPersistenceError {
  override readonly code = "environment_mismatch";

  constructor(
    readonly agentId: string,
    /** The checkpoint to continue from. */
    readonly checkpointId: string,
    /** All mismatches, at least one. */
    readonly mismatches: readonly UnresolvedMismatch[],
  ) {
    const lines = mismatches.map(({ description, options }) => `${description} (${options.join(", ")})`);
    super(
      `Agent ${quoted(agentId)} cannot continue from checkpoint ${checkpointId}, because its environment has changed: ` +
        `${lines.join("; ")}. Pass onEnvironmentMismatch to recoverTask or to the worker, and return one of the options for each change.`,
    );
  }
}
