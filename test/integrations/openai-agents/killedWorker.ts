import { appendFileSync, existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Agent, tool } from "@openai/agents-core";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { DurableRunner, PersistenceSession } from "agent-persistence/openai-agents";
import { z } from "zod";
import { calls, FakeModel, resultsIn, says } from "./fakeModel.ts";

/**
 * One process of a durable run: two calls at once, one after them, a handoff, then an agent that is a tool and has a tool of
 * its own. The process kills itself at the first of the given places where none was killed yet; the last one prints what came
 * of it.
 */
const [directory = "", how = "", ...places] = process.argv.slice(2);
const file = (name: string) => join(directory, name);

function dieAt(place: string): void {
  const marker = file(place.replaceAll(/\W/g, "_"));
  if (!places.includes(place) || existsSync(marker)) return;
  writeFileSync(marker, "");
  process.kill(process.pid, "SIGKILL");
}

const linesOf = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), "utf8").trim().split("\n") : []);

const book = tool({
  name: "book",
  description: "Books.",
  parameters: z.object({ room: z.string() }),
  execute: ({ room }, _context, details) => {
    dieAt(`before ${room}`);
    appendFileSync(file("booked"), `${room} ${details?.toolCall?.callId}\n`);
    dieAt(`after ${room}`);
    return `booked ${room}`;
  },
});

const asked = (who: string) => appendFileSync(file("asked"), `${who}\n`);

const helper = new Agent({
  name: "helper",
  model: new FakeModel((items) => {
    asked(`helper ${resultsIn(items).length}`);
    return resultsIn(items).length === 0 ? [calls("book", { room: "e" })] : [says("helped")];
  }),
  tools: [book],
});

const second = new Agent({
  name: "second",
  model: new FakeModel((items) => {
    const { length } = resultsIn(items);
    asked(`second ${length}`);
    if (length === 4) return [calls("book", { room: "d" })];
    return length === 5 ? [calls("ask_helper", { input: "Help." })] : [says(resultsIn(items).join(", "))];
  }),
  tools: [book, helper.asTool({ toolName: "ask_helper", toolDescription: "Helps." })],
});

const first = new Agent({
  name: "first",
  model: new FakeModel((items) => {
    const { length } = resultsIn(items);
    asked(`first ${length}`);
    // Providers repeat ids within one run.
    if (length === 0) return [calls("book", { room: "a" }, "call_0"), calls("book", { room: "b" }, "call_1")];
    return length === 2 ? [calls("book", { room: "c" }, "call_0")] : [calls("transfer_to_second", {}, "call_0")];
  }),
  tools: [book],
  handoffs: [second],
});

const storage = new FilePersistenceStorageProvider({ directory: file("agents") });
const runner = new DurableRunner({
  storage,
  tools: {
    book: {
      probe: (_input, { toolCallId }) =>
        linesOf("booked").some((line) => line.endsWith(toolCallId))
          ? { status: "done", output: "booked before" }
          : "not-done",
    },
  },
  config: { tracingDisabled: true },
});
await using session = new PersistenceSession({ storage, sessionId: "talk" });
const options = { agentId: "desk", session };
const run = async () => {
  if (how === "whole") return runner.run(first, "Book all.", options);
  const stream = await runner.run(first, "Book all.", { ...options, stream: true });
  await stream.completed;
  return stream;
};
const { finalOutput } = await run();
const items = await session.getItems();
writeSync(1, JSON.stringify({ finalOutput, booked: linesOf("booked"), asked: linesOf("asked"), items: items.length }));
