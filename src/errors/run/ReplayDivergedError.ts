import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A node that runs again asks for something other than what is recorded, and its first try had effects. */
export class ReplayDivergedError extends AgentPersistenceError {
  override readonly code = "replay_diverged";

  constructor(
    readonly agentId: string,
    readonly nodeId: string,
    /** What the first try asked for at this place. */
    readonly recorded: string,
    /** What the node asks for there now. */
    readonly found: string,
    /** The calls of the first try that took effect or, when `inDoubt`, may have taken effect. */
    readonly effects: readonly { readonly toolCallId: string; readonly toolName: string; readonly inDoubt: boolean }[],
    /** What else can be done, as sentences. Default: what can be done with an agent. */
    wayOut: string = wayOutOfAgent(agentId, nodeId),
  ) {
    const calls = effects.map(
      ({ toolName, toolCallId, inDoubt }) => `${toolName} (${toolCallId}${inDoubt ? ", in doubt" : ""})`,
    );
    super(
      `Node "${nodeId}" runs again and asks for ${found}, but ${recorded} is recorded. Its first try had effects: ` +
        `${calls.join(", ")}. Make the node ask for the same again. ${wayOut}`,
    );
  }
}

function wayOutOfAgent(agentId: string, nodeId: string): string {
  const stored = `persistence(agent).agent(${quoted(agentId)})`;
  return (
    `Or keep the effects and run the node anew: ${stored}.setExecutionPoint({ nodeId: ${quoted(nodeId)}, input }). ` +
    `Or revert them: ${stored}.rollbackToLatestCheckpoint(). Then resume.`
  );
}
