import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { AIAgent, Persistence, RollbackToolRegistry, strategy, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";

/** Says what it did on standard output, as tools of users do, and keeps it where a test can look. */
function did(what) {
  console.log(what);
  appendFileSync(process.env["DESK_JOURNAL"] ?? "desk.txt", `${what}\n`);
}

const call = (toolName, input) => ({ toolName, input });

const orders = () =>
  scriptedModel([
    { text: "I book and write.", toolCalls: [call("book", { room: "blue" }), call("write", { to: "Alex" })] },
    { toolCalls: [call("refund", { cents: 700 })] },
    "All is done.",
  ]);

/** Books a room, writes a letter, and refunds what a person approves. */
export function deskOn(storage, promptExecutor = orders()) {
  const book = tool({
    name: "book",
    description: "Books a room.",
    inputSchema: z.object({ room: z.string() }),
    execute: ({ room }) => did(`booked ${room}`) ?? { room },
  });
  const write = tool({
    name: "write",
    description: "Writes a letter.",
    inputSchema: z.object({ to: z.string() }),
    effect: "irreversible",
    execute: ({ to }) => did(`wrote ${to}`),
  });
  const refund = tool({
    name: "refund",
    description: "Refunds money.",
    inputSchema: z.object({ cents: z.int() }),
    needsApproval: ({ cents }) => ({ prompt: `Refund ${cents} cents?` }),
    execute: ({ cents }) => did(`refunded ${cents}`),
  });
  const rollbackToolRegistry = new RollbackToolRegistry().registerRollback(book, ({ room }) => {
    if (process.env["DESK_BROKEN"]) throw new Error("The desk is closed.");
    did(`freed ${room}`);
  });
  return new AIAgent({ promptExecutor, llmModel: "scripted", tools: [book, write, refund] }).install(Persistence, {
    storage,
    rollbackToolRegistry,
    retention: { completedDays: 0 },
  });
}

/** What `--agent desk.mjs#desk` loads. */
export const desk = () => deskOn(new FilePersistenceStorageProvider({ directory: process.env["DESK_FOLDER"] }));

/** An agent whose only node does not end with DESK_STUCK. */
export const stuck = () => {
  const steps = strategy("steps", (graph) => {
    const stay = graph.node("stay", (input, { signal }) =>
      setTimeout(process.env["DESK_STUCK"] ? 1e9 : 0, input, { signal }),
    );
    graph.edge(graph.start, stay);
    graph.edge(stay, graph.finish);
  });
  const storage = new FilePersistenceStorageProvider({ directory: process.env["DESK_FOLDER"] });
  return new AIAgent({ promptExecutor: orders(), llmModel: "scripted", strategy: steps }).install(Persistence, {
    storage,
  });
};

/** Code that fails in odd ways, as sockets and careless code do. */
export const cutOff = () => {
  throw Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
};
export const throwsNothing = () => Promise.reject(null);

/** Asks a person, and then fails with an error of the library. */
export const refusing = () => {
  const graph = strategy("refusing", (g) => {
    const ask = g.node("ask", (_input, context) => context.requestInput({ prompt: "Go on?", schema: z.boolean() }));
    const fail = g.node("fail", (_answer, context) => context.setProgress(-1));
    g.edge(g.start, ask);
    g.edge(ask, fail);
    g.edge(fail, g.finish);
  });
  const storage = new FilePersistenceStorageProvider({ directory: process.env["DESK_FOLDER"] });
  return new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: graph }).install(Persistence, {
    storage,
  });
};

/** Its storage fails as soon as the model does. */
export const unplugged = () => {
  const storage = new FilePersistenceStorageProvider({ directory: process.env["DESK_FOLDER"] });
  const execute = async () => {
    await storage.log.close();
    throw new Error("The model is gone.");
  };
  return deskOn(storage, { execute });
};

export const notAnAgent = { name: "nobody" };
export const bare = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none" });
export default desk;
