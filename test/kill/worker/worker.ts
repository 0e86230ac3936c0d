import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { AgentBusyError, AgentPersistenceError, AIAgent, Persistence, ToolCallInDoubtError } from "agent-persistence";
import { storageAt } from "../../storage/engines/storageAt.ts";
import { agentId, agentDirectory, runId, runInput } from "./identity.ts";
import { checkpointsOnly } from "./checkpointsOnly.ts";
import { Halt } from "./Halt.ts";
import { Ledger } from "./Ledger.ts";
import { tracedModel } from "./model.ts";
import { ledgerStrategy } from "./strategy.ts";
import { ledgerTools } from "./tools.ts";
import { Trace } from "../judge/Trace.ts";
import { TraceFeature } from "./traceFeature.ts";
import type { WorkerLine } from "./WorkerLine.ts";
import { WorkerOptions } from "./WorkerOptions.ts";

/** The program that is killed. Each start of it asks for the same run; nothing in it knows of crashes. */
async function work(options: WorkerOptions): Promise<void> {
  const { directory, toolCallIds, settled } = options;
  using ledger = new Ledger(directory);
  const trace = new Trace(directory);
  const halt = new Halt(options.haltAt, say);
  const tools = ledgerTools({ ledger, trace, halt, settled });
  const { place = { engine: "file", directory: agentDirectory(directory) } } = options;
  const whole = await storageAt(place, { leaseMs: options.leaseMs });
  const storage = options.storage === "whole" ? whole : checkpointsOnly(whole);
  await using agent = new AIAgent({
    id: agentId,
    promptExecutor: tracedModel(toolCallIds, trace, halt),
    llmModel: "first",
    systemPrompt: "Keep the ledger.",
    strategy: ledgerStrategy(tools),
    tools: Object.values(tools),
  })
    .install(Persistence, { storage })
    .install(TraceFeature, { trace, storage });
  trace.add({ kind: "process", processId: process.pid });
  say({ said: "ready" });
  const result = await asking(options.patient, () => agent.run(runInput, { runId }));
  if (result.status === "completed") say({ said: "completed", output: result.output });
}

async function asking<Result>(patient: boolean, run: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!patient || !(error instanceof AgentBusyError)) throw error;
      await delay(error.retryAfterMs);
    }
  }
}

function say(line: WorkerLine): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

function failureOf(error: AgentPersistenceError): WorkerLine {
  const { code, message } = error;
  if (error instanceof AgentBusyError) {
    const { processId } = error.owner;
    return { said: "failed", code, message, owner: { processId } };
  }
  if (!(error instanceof ToolCallInDoubtError)) return { said: "failed", code, message };
  const { toolName, toolCallId, nodeId } = error;
  return { said: "failed", code, message, toolName, toolCallId, nodeId };
}

try {
  await work(WorkerOptions.parse(JSON.parse(process.argv[2] ?? "{}")));
} catch (error) {
  if (!AgentPersistenceError.isInstance(error)) throw error;
  say(failureOf(error));
  process.exitCode = 1;
}
