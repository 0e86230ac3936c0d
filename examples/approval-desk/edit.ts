import { persistence } from "agent-persistence";
import { desk } from "./agent.ts";

/** `edit.ts <directory>`: names the first checkpoint of the chief, and begins again from it with another order. Nothing runs. */
const [, , directory = ".agent-persistence"] = process.argv;
const chief = persistence(desk(directory)).agent("order-7");
const [first] = await chief.getCheckpoints();
await chief.nameCheckpoint(first?.checkpointId ?? "", "beginning");
await chief.editCheckpoint("beginning", {
  by: "ann@example.com",
  reason: "the customer meant another order",
  lastInput: "refund order 8",
});
console.log((await chief.getLatestCheckpoint())?.lastInput);
