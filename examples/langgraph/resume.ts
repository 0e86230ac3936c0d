import { Command } from "@langchain/langgraph";
import { seeThread } from "../seeIt.ts";
import { openDesk, thread } from "./desk.ts";

/**
 * The next processes: `resume.ts <directory> [kill]`. The graph goes on where it was: with the answer that it waits for, or
 * with what the process before has left. With `kill`, the process is killed when the first order has been paid, before its tool
 * returns.
 */
const [, , directory = ".agent-persistence", how = ""] = process.argv;
const afterRefund = (order: string): void => {
  if (how === "kill" && order === "order 7") process.kill(process.pid, "SIGKILL");
};
const { checkpointer, graph } = openDesk(directory, afterRefund);
const { next } = await graph.getState(thread);
const { messages } = await graph.invoke(next.includes("approve") ? new Command({ resume: "yes" }) : null, thread);
console.log(`${messages.at(-1)?.text} The thread has ${messages.length} messages.`);
await checkpointer[Symbol.asyncDispose]();
console.error(seeThread("order-7", `file:${directory}`));
