import { openDesk } from "./desk.ts";

/** The second process: `approve.ts <directory>`. It answers the request that is open; nothing runs. */
const [, , directory = ".agent-persistence"] = process.argv;
await using desk = openDesk(directory);
const order = desk.runner.agent("order-7");
for (const { requestId } of await order.getRequests()) {
  await order.answer(requestId, { approved: true }, { by: "ann@example.com" });
  console.log("approved");
}
