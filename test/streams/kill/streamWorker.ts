import { writeSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { AIAgent, Persistence, type PromptExecutor, tool } from "agent-persistence";
import { Streams } from "agent-persistence/streams";
import { z } from "zod";
import { type StoragePlace, storageAt } from "../../storage/engines/storageAt.ts";
import { streamsAt } from "./streamsAt.ts";

export interface ServerOptions {
  readonly place: StoragePlace;
  readonly turns: number;
  readonly tokens: number;
  /** Whether the last response never ends, because this server is to be killed. */
  readonly hangs: boolean;
}

/** A server that runs or resumes one run, whose model writes other words in each process. */
const { place, turns, tokens, hangs } = JSON.parse(process.argv[2] ?? "{}") as ServerOptions;

const look = tool({ name: "look", description: "", inputSchema: z.object({}), effect: "none", execute: () => "seen" });

const promptExecutor: PromptExecutor = {
  execute: () => Promise.reject(new Error("only streams")),
  async stream({ messages, abortSignal }, onDelta) {
    const turn = messages.filter(({ role }) => role === "assistant").length;
    let text = "";
    for (let token = 0; token < tokens; token++) {
      if (token % 10 === 9) await wait(1, undefined, { signal: abortSignal });
      const word = `${process.pid}:${turn}:${token} `;
      text += word;
      onDelta({ type: "text-delta", text: word });
    }
    const isLast = turn === turns - 1;
    if (isLast && hangs) await wait(60_000, undefined, { signal: abortSignal });
    const call = { type: "tool-call", toolCallId: "c", toolName: "look", input: {} } as const;
    return { message: { role: "assistant", content: [{ type: "text", text }, ...(isLast ? [] : [call])] } };
  },
};

const agent = new AIAgent({ llmModel: "m", promptExecutor, tools: [look] })
  .install(Persistence, { storage: await storageAt(place) })
  .install(Streams, { store: await streamsAt(place), batchDelayMs: 1, batchChunks: 20 });

const { status } = await agent.run("go", { agentId: "a", runId: "r" });
writeSync(1, status);
// Connections would keep the process alive.
process.exit();
