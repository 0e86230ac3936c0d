import { appendFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, persistence, strategy, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";

/** One process that asks, answers, approves, cancels or resumes, as its arguments say; it prints what came of it and is killed, as by a machine. */
const [directory = "", verb = "", requestId = "", answer = ""] = process.argv.slice(2);

const charge = tool({
  name: "charge",
  description: "",
  inputSchema: z.object({ what: z.string() }),
  effect: "irreversible",
  execute: ({ what }) => appendFileSync(join(directory, "charged"), `${what}\n`),
});

const refund = Object.freeze({ ...charge, name: "refund", needsApproval: true });

const order = strategy<string, string>("order", (graph) => {
  const ask = graph.node("ask", async (input: string, context) => {
    if (input === "refund") return context.tools.call(refund, { what: "refund" }).then(() => input);
    await context.tools.call(charge, { what: "deposit" });
    const size = await context.requestInput({ prompt: `${input}?`, schema: z.enum(["S", "M"]) });
    await context.tools.call(charge, { what: size });
    return size;
  });
  graph.edge(graph.start, ask);
  graph.edge(ask, graph.finish);
});

const agent = new AIAgent({
  llmModel: "m",
  promptExecutor: scriptedModel([]),
  strategy: order,
  tools: [charge, refund],
}).install(Persistence, { storage: new FilePersistenceStorageProvider({ directory }) });

async function act(): Promise<unknown> {
  if (verb === "run") return agent.run(requestId || "shirt", { agentId: "a" });
  if (verb === "resume") return agent.resume({ agentId: "a" });
  const durable = persistence(agent).agent("a");
  if (verb === "cancel") return durable.cancel("too late").then(() => ({ canceled: true }));
  return durable.answer(requestId, verb === "approve" ? { approved: true } : answer);
}

const said = await act().catch((error: { readonly code?: string }) => ({ code: error.code }));
writeSync(1, JSON.stringify(said ?? { taken: true }));
process.kill(process.pid, "SIGKILL");
