import { writeSync } from "node:fs";
import { join } from "node:path";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { CountedDatabase } from "./CountedDatabase.ts";
import { Ledger } from "./Ledger.ts";
import type { AgentEnd, Life } from "./Program.ts";
import { agentIdsIn, agentOf, approve, type Scene, settleAll, verbs } from "./verbs.ts";

/** A life of the attack: calls of the public API in a row. The last life brings every agent to an end, and prints it. */
const life = JSON.parse(process.argv[2] ?? "") as Life;
const { directory, nodes } = life;
const storage: LogPersistenceStorageProvider =
  life.storage === "file"
    ? new FilePersistenceStorageProvider({ directory: join(directory, "store"), inlineThresholdBytes: 300 })
    : new SqlitePersistenceStorageProvider({ database: new CountedDatabase(join(directory, "agents.db")) });
const ledger = new Ledger(directory);

/** No refusal of a verb may be about what is stored. */
const damage = ["corrupt_log", "corrupt_blob", "unreadable_value", "invalid_record", "invalid_archive", undefined];

function codeOf(error: unknown): string | undefined {
  return (Object(error) as { readonly code?: string }).code;
}

async function call(verb: keyof typeof verbs, scene: Scene): Promise<void> {
  try {
    await verbs[verb](scene);
  } catch (error) {
    if (damage.includes(codeOf(error))) throw error;
  }
}

async function end(scene: Scene): Promise<AgentEnd> {
  for (let tries = 0; tries < 40; tries++) {
    try {
      const result = await agentOf(scene).resume({ agentId: scene.agentId });
      if (result.status === "completed") {
        const checkpoints = await storage.getCheckpoints(scene.agentId);
        const reverted = checkpoints.flatMap(({ revertedToolCallIds = [] }) => revertedToolCallIds);
        return { agentId: scene.agentId, status: "completed", output: result.output, reverted };
      }
      if (result.status === "waiting") for (const request of result.requests) await approve(scene, request);
    } catch (error) {
      const code = codeOf(error) ?? String(error);
      if (code === "agent_copied") await verbs.takeOver(scene);
      else if (code === "tool_call_in_doubt" || code === "rollback_incomplete") await settleAll(scene);
      else if (code === "run_cancelled" || code === "nothing_to_resume")
        return { agentId: scene.agentId, status: code };
      else throw error;
    }
  }
  return { agentId: scene.agentId, status: "wedged" };
}

const ends: AgentEnd[] = [];
if (life.calls) {
  for (const { verb, agent, at } of life.calls) {
    const ids = await agentIdsIn(storage);
    await call(verb, { storage, ledger, nodes, agentId: ids[agent % ids.length] ?? "a", at });
  }
} else {
  for (const agentId of await agentIdsIn(storage)) ends.push(await end({ storage, ledger, nodes, agentId, at: 0 }));
}
writeSync(1, JSON.stringify(ends));
