import { seeIt } from "../seeIt.ts";
import { openDesk } from "./desk.ts";

/**
 * The next processes: `resume.ts <directory> [kill]`. The desk goes on where it was. With `kill`, the process is killed when the
 * money has been paid, before the tool returns.
 */
const [, , directory = ".agent-persistence", how = ""] = process.argv;
const afterRefund = how === "kill" ? () => process.kill(process.pid, "SIGKILL") : () => {};
await using desk = openDesk(directory, afterRefund);
const { agent, runner, session } = desk;
const { finalOutput } = await runner.resume(agent, { agentId: "order-7", session });
const items = await session.getItems();
console.log(`${finalOutput} The conversation has ${items.length} items.`);
console.error(seeIt("order-7", `file:${directory}`));
