import { writeSync } from "node:fs";
import { migratingAgent, migrationsIn } from "./stoppedAgent.ts";

/** Resumes an agent of old code with new code, and prints what became of it. */
const [directory = ""] = process.argv.slice(2);
const { output } = (await migratingAgent(directory).resume({ agentId: "a" })) as { readonly output?: unknown };
writeSync(1, JSON.stringify({ output, migrations: await migrationsIn(directory) }));
