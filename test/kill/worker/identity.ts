import { join } from "node:path";

/** Every run of the worker has these, each in a directory of its own: so calls at the same place have the same id. */
export const agentId = "ledger";
export const runId = "run";
export const runInput = "Begin.";

/** Where the agent keeps its log, beside ledger and trace. */
export const agentDirectory = (directory: string): string => join(directory, "agent");
