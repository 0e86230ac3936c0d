import { AIAgent, Persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { existsSync } from "node:fs";

// A process makes two runs with one model request each in the folder that it is given. A look for a missing file, which
// the trace shows, stands between them.
const [, , directory = "", mark = ""] = process.argv;
const storage = new FilePersistenceStorageProvider({ directory });
for (let run = 0; run < 2; run++) {
  if (run > 0) existsSync(mark);
  const model = scriptedModel(["done"]);
  await new AIAgent({ id: "a", llmModel: "m", promptExecutor: model }).install(Persistence, { storage }).run("go");
}
await storage.log.close();
