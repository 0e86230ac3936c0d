import { existsSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { persistence } from "agent-persistence";
import type { StoragePlace } from "../../storage/engines/storageAt.ts";
import { killableStorageAt } from "../everyCall/killableStorageAt.ts";
import { bookingAgent, sealedStorage } from "./sealedAgent.ts";

/** Runs and prunes one sealed agent, deletes another one, and uses its id again. Continues where an earlier process ended. */
const [directory = "", place = ""] = process.argv.slice(2);
const storage = sealedStorage(await killableStorageAt(JSON.parse(place) as StoragePlace), directory);
const agent = bookingAgent(storage, directory);
const feature = persistence(agent);
const once = async (name: string, work: () => Promise<unknown>): Promise<void> => {
  const file = join(directory, name);
  if (existsSync(file)) return;
  await work();
  writeFileSync(file, "");
};

const run = (input: string, agentId: string, runId: string) => agent.run(input, { agentId, runId });
await once("ran", () => run("a", "a", "r"));
await once("pruned", () => feature.prune({ agentId: "a", policy: { maxCheckpoints: 2 } }));
await once("made", () => run("b", "b", "r"));
await once("deleted", () => feature.deleteAgent("b"));
const { status } = await run("c", "b", "again");
writeSync(1, JSON.stringify(status));
await storage.log.close();
