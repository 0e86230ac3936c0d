import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { processOwner } from "agent-persistence/storage";
import Database from "libsql";
import { writeSync } from "node:fs";

// Owns one agent in turn with other processes. Says each append only after it was acknowledged.
const [, , path = ""] = process.argv;
const { log } = new SqlitePersistenceStorageProvider({ database: new Database(path) });
for (;;) {
  try {
    const owned = await log.open("a", processOwner());
    for (let n = 0; n < 5; n++) {
      const id = `${owned.generation}-${owned.position + 1}`;
      const now = new Date().toISOString();
      const summary = {
        agentId: "a",
        status: "in_progress",
        order: now,
        requestIds: [],
        position: 0,
        createdAt: now,
        updatedAt: now,
        data: id,
      };
      const position = await owned.append(
        { id, records: [{ kind: "message" }], ...(n === 2 && { summary }) },
        owned.position,
      );
      writeSync(1, `${position} ${id}\n`);
    }
    await owned.release();
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "agent_busy") throw error;
  }
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
}
