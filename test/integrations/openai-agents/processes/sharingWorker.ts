import { appendFileSync, existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Agent, tool } from "@openai/agents-core";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { DurableRunner, PersistenceSession } from "agent-persistence/openai-agents";
import { z } from "zod";
import { calls, FakeModel, resultsIn, says } from "../fakeModel.ts";

/**
 * One of two processes that begin at the same time: it adds pairs of items to a session that they share, and runs the same run
 * of the same agent. It prints what it got.
 */
const [directory = "", name = "", other = ""] = process.argv.slice(2);
const file = (called: string) => join(directory, called);

const storage = new FilePersistenceStorageProvider({ directory: file("agents"), leaseMs: 3_600_000 });
await using session = new PersistenceSession({ storage, sessionId: "shared" });
await using talk = new PersistenceSession({ storage, sessionId: "talk" });

const book = tool({
  name: "book",
  description: "Books.",
  parameters: z.object({ room: z.string() }),
  execute: ({ room }) => {
    appendFileSync(file("booked"), `${room}\n`);
    return `booked ${room}`;
  },
});
const model = new FakeModel((items) => {
  const { length } = resultsIn(items);
  return length < 3 ? [calls("book", { room: `${length}` })] : [says(resultsIn(items).join(", "))];
});
const runner = new DurableRunner({ storage, config: { tracingDisabled: true } });
const desk = new Agent({ name: "desk", model, tools: [book] });

/** Until this process is the one that runs it, or the other one has. */
async function ran(): Promise<unknown> {
  for (;;) {
    try {
      const options = { agentId: "desk", runId: "first", session: talk };
      return (await runner.run(desk, "Book all.", options)).finalOutput;
    } catch (error) {
      if ((error as { code?: string }).code !== "agent_busy") throw error;
    }
  }
}

writeFileSync(file(name), "");
while (!existsSync(file(other))) await new Promise((resolve) => setTimeout(resolve, 1));

const running = ran();
for (let pair = 0; pair < 5; pair++) {
  const items = ["first", "second"].map((part) => ({ role: "user" as const, content: `${name} ${pair} ${part}` }));
  await session.addItems(items);
}
const finalOutput = await running;
const booked = readFileSync(file("booked"), "utf8").trim().split("\n");
writeSync(1, JSON.stringify({ finalOutput, booked, items: (await talk.getItems()).length }));
