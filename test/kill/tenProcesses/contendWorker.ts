import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { AgentBusyError, AIAgent, Persistence, persistence, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import { migratingAgent } from "../migration/stoppedAgent.ts";
import type { Order, Said, Start } from "./Message.ts";

/** A process that starts, forks or migrates an agent when it is told to, at a moment at which others start the same. */
let goOn: () => void = () => {};

process.on("message", (order: Order) => {
  if (order === "go on") return goOn();
  if ("fork" in order) return begin(order.fork, fork);
  if ("migrate" in order) return begin(order.migrate, migrate);
  begin(order.contend, contend);
});
say({ said: "ready" });

function begin({ directory, atMs }: Start, act: (directory: string) => Promise<Said>): void {
  setTimeout(() => void act(directory).then(say), atMs - Date.now());
}

async function fork(directory: string): Promise<Said> {
  try {
    await persistence(agentIn(directory)).agent("contended").fork("fork");
    return { said: "forked" };
  } catch (error) {
    const { code } = error as { readonly code?: string };
    return code === undefined ? { said: "failed", message: String(error) } : { said: "refused", code };
  }
}

async function contend(directory: string): Promise<Said> {
  return ended(agentIn(directory).run("Mark.", { runId: "one" }));
}

async function migrate(directory: string): Promise<Said> {
  return ended(migratingAgent(directory).resume({ agentId: "a" }));
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
  }).install(Persistence, { storage: new FilePersistenceStorageProvider({ directory: join(directory, "agent") }) });
}

function say(said: Said): void {
  process.send?.(said);
}
