import { writeSync } from "node:fs";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { finish, payer } from "../../transfer/movedAgents.ts";

/** Forks an agent, unless an earlier process has, lets the fork come to its end, and prints what both have. */
const [directory = ""] = process.argv.slice(2);
const storage = () => new FilePersistenceStorageProvider({ directory, inlineThresholdBytes: 300 });
const made = payer(storage());
const { feature } = made;
const isTaken = (error: unknown) => (error as { readonly code?: string }).code === "agent_exists";

const before = await feature.agent("a").getCheckpoints();
await feature
  .agent("a")
  .fork("b")
  .catch((error: unknown) => {
    if (!isTaken(error)) throw error;
  });
const { output } = (await finish(made, "b")) as { readonly output?: unknown };
const ids = (await feature.agent("b").getCheckpoints()).map(({ checkpointId }) => checkpointId);
const hasAll = before.every(({ checkpointId }, at) => ids[at] === checkpointId);
const requests = await feature.agent("a").getRequests();
writeSync(1, JSON.stringify({ output, hasAll, requests: requests.length }));
