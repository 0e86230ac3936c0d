import { writeSync } from "node:fs";
import { AgentPersistenceError, persistence, type AgentFeature } from "agent-persistence";
import type { z } from "zod";
import { openStorage } from "../../../examples/openStorage.ts";
import { agentId, databaseFile, importAgent } from "../../../examples/user-import/agent.ts";
import { Halt } from "../worker/Halt.ts";
import type { WorkerLine } from "../worker/WorkerLine.ts";
import { HaltingDatabase } from "./HaltingDatabase.ts";
import { ImportStart } from "./ImportStart.ts";

/** Installed after Persistence: a call is recorded before it comes here, and its end when it has left. */
const HaltFeature: AgentFeature<Halt, undefined> = {
  key: "Halt",
  install(pipeline, halt) {
    pipeline.aroundToolCall(async (event, next) => {
      const passing = { tool: event.tool.name, call: event.toolCallId };
      await halt.pass("before", passing);
      const output = await next(event);
      await halt.pass("after", passing);
      return output;
    });
    return undefined;
  },
};

/** The agent of the example, with its tools and its database, as a program that is killed. */
async function work({ directory, csvFile, rollBackTo, haltAt }: z.output<typeof ImportStart>): Promise<void> {
  const halt = new Halt(haltAt, say);
  using database = new HaltingDatabase(databaseFile(directory), halt);
  await using agent = importAgent(await openStorage("file", directory), csvFile, { database }).install(
    HaltFeature,
    halt,
  );
  say({ said: "ready" });
  if (rollBackTo !== undefined) {
    say({ said: "completed", output: await persistence(agent).agent(agentId).rollbackToCheckpoint(rollBackTo) });
    return;
  }
  const result = await agent.run("Import the people.", { runId: "import" });
  if (result.status === "completed") say({ said: "completed", output: result.output });
}

function say(line: WorkerLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

// The scripted model is wanted, whatever the machine is set up for.
delete process.env["OPENAI_API_KEY"];
try {
  await work(ImportStart.parse(JSON.parse(process.argv[2] ?? "{}")));
} catch (error) {
  if (!AgentPersistenceError.isInstance(error)) throw error;
  say({ said: "failed", code: error.code, message: error.message });
  process.exitCode = 1;
}
