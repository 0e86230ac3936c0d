import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, strategy } from "agent-persistence";

// What a page bundles: an agent that fails, is resumed, and goes back.
const storage = new InMemoryPersistenceStorageProvider();
const visited = [];

function agent(broken) {
  const greet = strategy("greet", (graph) => {
    const first = graph.node("first", (name) => (visited.push("first"), `Hello, ${name}`));
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

const failure = await agent(true)
  .run("Ada", { agentId: "page" })
  .catch((error) => error);
const { output } = await agent(false).resume({ agentId: "page" });
const checkpoints = await persistence(agent(false)).agent("page").getCheckpoints();
console.log(JSON.stringify({ failure: failure.message, output, visited, checkpoints: checkpoints.length }));
