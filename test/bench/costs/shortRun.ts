import { AIAgent, Persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";

// A process makes one run with one model request in the folder that it is given.
const storage = new FilePersistenceStorageProvider({ directory: process.argv[2] ?? "" });
const model = scriptedModel(["done"]);
await new AIAgent({ id: "a", llmModel: "m", promptExecutor: model }).install(Persistence, { storage }).run("go");
await storage.log.close();
