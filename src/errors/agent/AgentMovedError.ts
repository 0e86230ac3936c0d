import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The agent was moved to another storage, or a move is in progress. The stored state is unchanged. */
export class AgentMovedError extends AgentPersistenceError {
  override readonly code = "agent_moved";

  constructor(
    readonly agentId: string,
    /** `moving` until `finishMove` or `cancelMove` is called. */
    readonly state: "moving" | "moved",
    /**
     * The id of the agent at its new location, and the directory of the new storage if it has one. Omitted while the
     * move is in progress.
     */
    readonly to?: { readonly agentId: string; readonly folder?: string },
  ) {
    const place = to?.folder === undefined ? "another storage" : `the storage in ${to.folder}`;
    super(
      state === "moved"
        ? `Agent ${quoted(agentId)} was moved to ${place}, as ${quoted(to?.agentId ?? agentId)}. Run it there.`
        : `Agent ${quoted(agentId)} was exported for a move. Call finishMove() with the receipt of the import, or cancelMove() if the agent was not imported.`,
    );
  }
}
