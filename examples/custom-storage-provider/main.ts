import { AIAgent, Persistence, tool, type PersistenceStorageProvider } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { JsonFileStorageProvider } from "./JsonFileStorageProvider.ts";

const directory = mkdtempSync(join(tmpdir(), "custom-storage-"));
const greeted = new Map<string, string>();

const greet = tool({
  name: "greet",
  description: "Greets one person.",
  inputSchema: z.object({ name: z.string() }),
  effect: "idempotent",
  execute: ({ name }, { toolCallId }) => greeted.set(toolCallId, name).size,
});

function greeter(storage: PersistenceStorageProvider): AIAgent {
  const calls = ["Alex", "Maria"].map((name) => ({ toolCalls: [{ toolName: "greet", input: { name } }] }));
  const promptExecutor = scriptedModel([...calls, "Both are greeted."]);
  return new AIAgent({ id: "greeter", promptExecutor, llmModel: "scripted", tools: [greet] }).install(Persistence, {
    storage,
  });
}

await greeter(crashAfter(new JsonFileStorageProvider(directory), 3))
  .run("Greet Alex and Maria")
  .catch(() => console.log("crashed after three checkpoints"));
console.log(`greeted before the crash: ${[...greeted.values()].join(", ")}`);

const result = await greeter(new JsonFileStorageProvider(directory)).resume();
console.log(`after it: ${result.status === "completed" ? result.output : result.status}`);
console.log(`greeted in all: ${[...greeted.values()].join(", ")}`);

// The command line opens the storages of this package. A program looks into any storage.
const { checkpoints } = await inspect(new JsonFileStorageProvider(directory)).checkpoints("greeter");
console.log(`\nwhat inspect() shows of it: ${checkpoints.map(({ node }) => node).join(" → ")}`);
rmSync(directory, { recursive: true });
