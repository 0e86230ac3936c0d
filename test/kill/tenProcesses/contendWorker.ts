import { appendFileSync, createReadStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { AgentBusyError, AIAgent, Persistence, persistence, tool } from "agent-persistence";
import { cancelMove, finishMove, importAgent, type MoveReceipt } from "agent-persistence/transfer";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import { migratingAgent } from "../migration/stoppedAgent.ts";
import type { Deed, Order, Said } from "./Message.ts";

/** A process that does with an agent what it is told to, at a moment at which others do the same. */
let goOn: () => void = () => {};

const deeds: Readonly<Record<Deed, (directory: string) => Promise<Said>>> = {
  contend: (directory) => ended(agentIn(directory).run("Mark.", { runId: "one" })),
  migrate: (directory) => ended(migratingAgent(directory).resume({ agentId: "a" })),
  fork: (directory) => done(persistence(agentIn(directory)).agent("contended").fork("fork")),
  import: (directory) => done(importAgent(storageIn(directory), createReadStream(join(directory, "archive")))),
  finishMove: (directory) => done(finishMove(storageIn(directory), "order-7", receiptIn(directory))),
  cancelMove: (directory) => done(cancelMove(storageIn(directory), "order-7")),
};

process.on("message", (order: Order) => {
  if (order === "go on") return goOn();
  const { directory, atMs } = order.start;
  setTimeout(() => void deeds[order.begin](directory).then(say), atMs - Date.now());
});
say({ said: "ready" });

async function done(action: Promise<unknown>): Promise<Said> {
  try {
    await action;
    return { said: "done" };
  } catch (error) {
    const { code } = error as { readonly code?: string };
    return code === undefined ? { said: "failed", message: String(error) } : { said: "refused", code };
  }
}

async function ended(run: Promise<unknown>): Promise<Said> {
  try {
    const { output } = (await run) as { readonly output?: unknown };
    return { said: "completed", output };
  } catch (error) {
    if (!(error instanceof AgentBusyError)) return { said: "failed", message: String(error) };
    return { said: "busy", holder: error.owner.processId, retryAfterMs: error.retryAfterMs };
  }
}

function agentIn(directory: string): AIAgent {
  let calls = 0;
  const mark = tool({
    name: "mark",
    description: "",
    inputSchema: z.object({ mark: z.string() }),
    effect: "idempotent",
    // Nothing keeps a call from being made twice here: whoever makes it is seen.
    execute: async (_input, { toolCallId }) => {
      appendFileSync(join(directory, "effects"), `${toolCallId} ${process.pid}\n`);
      if (calls++ > 0) return;
      say({ said: "inside" });
      await new Promise<void>((resolve) => (goOn = resolve));
    },
  });
  const turn = (...marks: readonly string[]) => ({
    toolCalls: marks.map((name) => ({ toolName: "mark", input: { mark: name } })),
  });
  return new AIAgent({
    id: "contended",
    promptExecutor: scriptedModel([turn("a", "b"), turn("c"), "marked"]),
    llmModel: "scripted",
    tools: [mark],
  }).install(Persistence, { storage: storageIn(directory) });
}

function storageIn(directory: string): FilePersistenceStorageProvider {
  return new FilePersistenceStorageProvider({ directory: join(directory, "agent"), inlineThresholdBytes: 300 });
}

function receiptIn(directory: string): MoveReceipt {
  return JSON.parse(readFileSync(join(directory, "receipt"), "utf8")) as MoveReceipt;
}

function say(said: Said): void {
  process.send?.(said);
}
