import { openDesk } from "./desk.ts";

/** The first process: `start.ts <directory>`. The desk looks the order up, and asks for an approval. The process ends. */
const [, , directory = ".agent-persistence"] = process.argv;
await using desk = openDesk(directory);
const { agent, runner, session } = desk;
const { interruptions } = await runner.run(agent, "Refund order 7.", { agentId: "order-7", session });
for (const { name = "", arguments: input = "" } of interruptions)
  console.log(`waits for an approval: ${name} ${input}`);
