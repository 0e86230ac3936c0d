import { appendFileSync, existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, strategy, tool, type AgentContext, type PromptExecutor } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { z } from "zod";

/**
 * One process of an agent whose node asks a model that is down, and then asks again: the same model or another one. The
 * first process is killed inside the tool that the second request led to; prints how the run of a later one ended.
 */
const [directory = "", how = ""] = process.argv.slice(2);
const file = (name: string) => join(directory, name);

const promptExecutor: PromptExecutor = {
  execute: async ({ model }) => {
    appendFileSync(file("asked"), `${model}\n`);
    // Down in the first process only, and there for the first request.
    if (!existsSync(file("recovered"))) {
      writeFileSync(file("recovered"), "");
      throw new Error("overloaded");
    }
    const call = { type: "tool-call", toolCallId: "call_0", toolName: "book", input: { room: model } } as const;
    return { message: { role: "assistant", content: [call] } };
  },
};

const book = tool({
  name: "book",
  description: "",
  inputSchema: z.object({ room: z.string() }),
  effect: "idempotent",
  execute: ({ room }, { toolCallId }) => {
    const isFirst = !existsSync(file("booked"));
    appendFileSync(file("booked"), `${toolCallId} ${room}\n`);
    if (isFirst) process.kill(process.pid, "SIGKILL");
    return room;
  },
});

async function answerOf({ llm }: AgentContext) {
  try {
    return await llm.request();
  } catch {
    return llm.request(how === "fallback" ? { model: "second" } : {});
  }
}

const booking = strategy<string, string>("booking", (graph) => {
  const only = graph.node("only", async (input: string, context) => {
    await context.tools.execute(await answerOf(context));
    return input;
  });
  graph.edge(graph.start, only);
  graph.edge(only, graph.finish);
});

const agent = new AIAgent({
  llmModel: "first",
  promptExecutor,
  strategy: booking,
  tools: [book],
}).install(Persistence, { storage: new FilePersistenceStorageProvider({ directory }) });

const said = await agent
  .run("done", { agentId: "a", runId: "r" })
  .catch((error: Error & { readonly code?: string }) => ({ code: error.code, message: error.message }));
const lines = (name: string) => readFileSync(file(name), "utf8").trim().split("\n");
writeSync(1, JSON.stringify({ ...said, asked: lines("asked"), booked: lines("booked") }));
