import { persistence } from "agent-persistence";
import { desk } from "./agent.ts";

/** `verdicts.ts <directory>`: whether this version of the code can continue each unfinished agent. Nothing is changed. */
const [, , directory = ".agent-persistence"] = process.argv;
for await (const { agentId, verdict, differences } of persistence(desk(directory)).checkMigrations())
  console.log([agentId, verdict, ...differences].join(" "));
