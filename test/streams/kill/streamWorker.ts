import { writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { AIAgent, Persistence, type PromptExecutor, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { FileStreamStore, Streams } from "agent-persistence/streams";
import { z } from "zod";

/** A server that runs or resumes one run, whose model writes other words in each process. */
const [directory = "", turns = "3", tokens = "200"] = process.argv.slice(2);

const look = tool({ name: "look", description: "", inputSchema: z.object({}), effect: "none", execute: () => "seen" });

const promptExecutor: PromptExecutor = {
  execute: () => Promise.reject(new Error("only streams")),
  async stream({ messages, abortSignal }, onDelta) {
    const turn = messages.filter(({ role }) => role === "assistant").length;
    let text = "";
    for (let token = 0; token < Number(tokens); token++) {
      if (token % 10 === 9) await wait(1, undefined, { signal: abortSignal });
      const word = `${process.pid}:${turn}:${token} `;
      text += word;
      onDelta({ type: "text-delta", text: word });
    }
    const isLast = turn === Number(turns) - 1;
    const call = { type: "tool-call", toolCallId: "c", toolName: "look", input: {} } as const;
    return { message: { role: "assistant", content: [{ type: "text", text }, ...(isLast ? [] : [call])] } };
  },
};

const agent = new AIAgent({ llmModel: "m", promptExecutor, tools: [look] })
  .install(Persistence, { storage: new FilePersistenceStorageProvider({ directory }) })
  .install(Streams, {
    store: new FileStreamStore({ directory: join(directory, "streams") }),
    batchDelayMs: 1,
    batchChunks: 20,
  });

const { status } = await agent.run("go", { agentId: "a", runId: "r" });
writeSync(1, status);
