import { writeSync } from "node:fs";
import { AIAgent, Persistence, persistence, strategy } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";

/** Runs an agent to its end, names a checkpoint, edits it, and prints what there is. A later process finds the run's result. */
const [directory = ""] = process.argv.slice(2);
const steps = strategy<string, string>("steps", (graph) => {
  const first = graph.node("first", (text: string) => text);
  const second = graph.node("second", (text: string) => `${text}!`);
  graph.edge(graph.start, first);
  graph.edge(first, second);
  graph.edge(second, graph.finish);
});
const promptExecutor = { execute: () => Promise.reject(new Error("No model is asked.")) };
const agent = new AIAgent({ id: "a", llmModel: "none", promptExecutor, strategy: steps });
agent.install(Persistence, { storage: new FilePersistenceStorageProvider({ directory }) });
const of = persistence(agent).agent();

await agent.run("a", { runId: "r" });
const made = (await of.getCheckpoints()).filter(({ move }) => move === "edit");
const target = (await of.getCheckpoints()).find(({ nodeId }) => nodeId === "second");
await of.nameCheckpoint(target?.checkpointId ?? "", "before");
if (made.length === 0)
  await of.editCheckpoint("before", { by: "ann", reason: "why", lastInput: "b", messageHistory: () => [] });
const checkpoints = await of.getCheckpoints();
const { output } = (await agent.resume()) as { readonly output?: string };
// An earlier process may have come to the end of the edited run.
const left = checkpoints
  .filter(({ lastInput }) => lastInput !== "b!")
  .map(({ nodeId, lastInput, name, by }) => [nodeId, lastInput, name ?? by ?? ""].join(" "));
writeSync(1, JSON.stringify({ left, output }));
