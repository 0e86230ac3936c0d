import { Command } from "@langchain/langgraph";
import type { HITLResponse } from "langchain";
import { seeThread } from "../seeIt.ts";
import { openAgent, thread, waitingCalls } from "./agent.ts";

/**
 * The next processes: `resume.ts <directory> [kill]`. The agent continues where it was: with the decisions that it waits for,
 * or with what the process before has left. With `kill`, the process is killed when the rent has been paid, before its tool
 * returns.
 */
const [, , directory = ".agent-persistence", how = ""] = process.argv;
const opened = openAgent(directory, (bill) => {
  if (how === "kill" && bill === "rent") process.kill(process.pid, "SIGKILL");
});
const calls = await waitingCalls(opened);
const decisions = calls.map(({ name, args }): HITLResponse["decisions"][number] =>
  args["bill"] === "rent"
    ? { type: "approve" }
    : { type: "edit", editedAction: { name, args: { ...args, euros: 40 } } },
);
// After a crash there is nothing to decide: `null` continues.
const input = calls.length > 0 ? new Command({ resume: { decisions } }) : null;
const { messages } = await opened.agent.invoke(input as Parameters<typeof opened.agent.invoke>[0], thread);
console.log(messages.at(-1)?.text);
await opened.checkpointer[Symbol.asyncDispose]();
console.error(seeThread("bills", `file:${directory}`));
