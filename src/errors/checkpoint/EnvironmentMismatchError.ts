import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** What is not as it was, for people, and what can be done about it. */
export interface UnresolvedMismatch {
  readonly kind: string;
  /** The file or folder that it is about. Absent: it is about none. */
  readonly path?: string;
  readonly description: string;
  readonly options: readonly string[];
}

/** An agent was to be recovered in an environment that is not as it was, and nobody was there to ask. Nothing has changed. */
export class EnvironmentMismatchError extends AgentPersistenceError {
  readonly code = "environment_mismatch";
  readonly agentId: string;
  readonly checkpointId: string;
  readonly mismatches: readonly UnresolvedMismatch[];

  constructor(agentId: string, checkpointId: string, mismatches: readonly UnresolvedMismatch[]) {
    const lines = mismatches.map(({ description, options }) => `${description} (${options.join(", ")})`);
    super(
      `Agent ${JSON.stringify(agentId)} cannot go on from checkpoint ${checkpointId} before this is settled: ` +
        `${lines.join("; ")}. Give recover, or the worker, an onEnvironmentMismatch that chooses one of the options for each.`,
    );
    this.agentId = agentId;
    this.checkpointId = checkpointId;
    this.mismatches = mismatches;
  }
}
