import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A node that runs again asks for something else than was recorded, and effects of its first try stand. */
export class ReplayDivergedError extends AgentPersistenceError {
  readonly code = "replay_diverged";
  readonly agentId: string;
  readonly nodeId: string;
  /** What was asked for at that place in the first try. */
  readonly recorded: string;
  /** What is asked for there now. */
  readonly found: string;
  /** The calls of the first try that had an effect, or may have had one. */
  readonly effects: readonly { readonly toolCallId: string; readonly toolName: string; readonly inDoubt: boolean }[];

  constructor(facts: Pick<ReplayDivergedError, "agentId" | "nodeId" | "recorded" | "found" | "effects">) {
    const { agentId, nodeId, recorded, found, effects } = facts;
    const stored = `persistence(agent).agent(${JSON.stringify(agentId)})`;
    const calls = effects.map(
      ({ toolName, toolCallId, inDoubt }) => `${toolName} (${toolCallId}${inDoubt ? ", in doubt" : ""})`,
    );
    super(
      `Node "${nodeId}" runs again and asks for ${found}, where ${recorded} is recorded. Effects of its first try are at stake: ` +
        `${calls.join(", ")}. Make the node ask for the same again. Or keep them and run it afresh: ` +
        `${stored}.setExecutionPoint({ nodeId: ${JSON.stringify(nodeId)}, input }). ` +
        `Or take them back: ${stored}.rollbackToLatestCheckpoint(). Then resume.`,
    );
    this.agentId = agentId;
    this.nodeId = nodeId;
    this.recorded = recorded;
    this.found = found;
    this.effects = effects;
  }
}
