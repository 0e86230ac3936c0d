import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { persistence, type PendingRequest } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { Deeds } from "./Deeds.ts";
import { office } from "./office.ts";
import { readFound } from "./readFound.ts";

/**
 * A process of a life: begins the run or goes on with it, answers what it asks, and prints what there is at the end. It answers
 * at once, in the middle of the run, or only once the run waits.
 */
const [directory = "", answers = "at once", dieAfter] = process.argv.slice(2);
const deeds = new Deeds(directory, dieAfter);
const storage = new FilePersistenceStorageProvider({ directory: join(directory, "store") });
const given: Promise<void>[] = [];
const agent = office({
  storage,
  deeds,
  found: await readFound(storage, "a"),
  onEvent: ({ type }) => void (type === "request_opened" && answers === "at once" && given.push(answerAll())),
});
const outside = persistence(agent).agent("a");

for (const { requestId, prompt } of await outside.getRequests())
  if (readFileSync(join(directory, "deeds"), "utf8").includes(`taken ${requestId}`))
    deeds.add(`problem: the answer to "${prompt}" was taken and is lost`);

let result = await agent.run("go", { runId: "r" });
await Promise.all(given);
while (result.status === "waiting") {
  await answerAll();
  result = await agent.resume();
  await Promise.all(given);
}
const { prompts, replies } = await readFound(storage, "a");
const { structural, integrity } = await outside.validateCheckpoint();
writeSync(
  1,
  JSON.stringify({
    output: "output" in result && result.output,
    asked: [...prompts.values()].sort(),
    answeredOnce: new Set(replies).size === replies.length && replies.length === prompts.size,
    broken: Object.entries({ ...structural, ...integrity }).flatMap(([name, { ok }]) => (ok ? [] : [name])),
  }),
);

async function answerAll(): Promise<void> {
  for (const request of await outside.getRequests()) await answer(request);
}

async function answer({ requestId, kind, prompt }: PendingRequest): Promise<void> {
  try {
    await outside.answer(requestId, kind === "approval" ? { approved: true } : "M");
    deeds.add(`taken ${requestId} ${prompt}`);
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code !== "request_answered" && code !== "request_not_found" && code !== "agent_busy") throw error;
  }
}
