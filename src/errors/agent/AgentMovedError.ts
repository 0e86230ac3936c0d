import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The agent was moved to another storage, or is about to be. Nothing was changed. */
export class AgentMovedError extends AgentPersistenceError {
  override readonly code = "agent_moved";

  constructor(
    readonly agentId: string,
    /** `moving` until `finishMove` or `cancelMove` is called. */
    readonly state: "moving" | "moved",
    /** Where it runs now: its id there, and the folder of its storage if it has one. Absent while it is moving. */
    readonly to?: { readonly agentId: string; readonly folder?: string },
  ) {
    const place = to?.folder === undefined ? "another storage" : `the storage in ${to.folder}`;
    super(
      state === "moved"
        ? `Agent ${quoted(agentId)} was moved to ${place}, as ${quoted(to?.agentId ?? agentId)}. Run it there.`
        : `Agent ${quoted(agentId)} was exported to be moved. Call finishMove() with the receipt of its import, or cancelMove() if it did not arrive.`,
    );
  }
}
