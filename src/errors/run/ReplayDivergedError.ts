import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A node that runs again makes a different request than the recorded one, and its first attempt had effects. */
export class ReplayDivergedError extends AgentPersistenceError {
  override readonly code = "replay_diverged";

  constructor(
    readonly agentId: string,
    readonly nodeId: string,
    /** The recorded request of the first attempt. */
    readonly recorded: string,
    /** The current request of the node. */
    readonly found: string,
    /** The calls of the first attempt that took effect. Calls with `inDoubt` possibly took effect. */
    readonly effects: readonly { readonly toolCallId: string; readonly toolName: string; readonly inDoubt: boolean }[],
    /** Other ways to continue, as sentences. Defaults to the ways that an agent offers. */
    wayOut: string = wayOutOfAgent(agentId, nodeId),
  ) {
    const calls = effects.map(
      ({ toolName, toolCallId, inDoubt }) => `${toolName} (${toolCallId}${inDoubt ? ", in doubt" : ""})`,
    );
    super(
      `Node "${nodeId}" runs again and requests ${found}, but ${recorded} is recorded. Its first attempt took effect: ` +
        `${calls.join(", ")}. Make the node repeat the recorded request. ${wayOut}`,
    );
  }
}

function wayOutOfAgent(agentId: string, nodeId: string): string {
  const stored = `persistence(agent).agent(${quoted(agentId)})`;
  return (
    `Or keep the effects and restart the node: ${stored}.setExecutionPoint({ nodeId: ${quoted(nodeId)}, input }). ` +
    `Or revert them: ${stored}.rollbackToLatestCheckpoint(). Then resume.`
  );
}
