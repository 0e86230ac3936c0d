import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, strategy } from "agent-persistence";

const manifest = new URL("node_modules/agent-persistence/package.json", import.meta.url);
for (const entry of Object.keys(JSON.parse(readFileSync(manifest, "utf8")).exports)) {
  if (entry === "./package.json") continue;
  const names = Object.keys(await import(`agent-persistence${entry.slice(1)}`));
  assert.notEqual(names.length, 0, `${entry} exports nothing`);
}

const storage = new InMemoryPersistenceStorageProvider();
const visited = [];
let broken = true;

function agent() {
  const greet = strategy("greet", (graph) => {
    const first = graph.node("first", (name) => {
      visited.push("first");
      return `Hello, ${name}`;
    });
    const second = graph.node("second", (greeting) => {
      visited.push("second");
      if (broken) throw new Error("broken");
      return `${greeting}!`;
    });
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });
  const promptExecutor = { execute: () => Promise.reject(new Error("no model is asked")) };
  return new AIAgent({ promptExecutor, llmModel: "none", strategy: greet }).install(Persistence, { storage });
}

await assert.rejects(agent().run("Ada", { agentId: "smoke" }));
broken = false;
const result = await agent().resume({ agentId: "smoke" });
assert.equal(result.status, "completed");
assert.equal(result.output, "Hello, Ada!");
assert.deepEqual(visited, ["first", "second", "second"]);
console.log("import: every entry loads, an agent was saved and resumed");
