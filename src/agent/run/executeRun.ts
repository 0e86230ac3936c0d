import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import { ActiveRun } from "./ActiveRun.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import { onAbort } from "../../internal/abortable.ts";
import { pendingRequest, type RunResult } from "../feature/RunResult.ts";
import type { RunRequest } from "../feature/RunRequest.ts";
import { runStrategy } from "./runStrategy.ts";

/** Executes a run, inside the interceptors of `aroundRun`. */
export async function executeRun(definition: AgentDefinition, request: RunRequest): Promise<RunResult<unknown>> {
  const { pipeline } = definition;
  const run = new ActiveRun(definition, request, await platformSha256());
  const unlisten = onAbort(run.signal, () => run.abortVisit());
  try {
    await pipeline.emit("agentStarting", { run });
    const end = await runStrategy(run);
    if ("waiting" in end) return { status: "waiting", runId: run.runId, requests: end.waiting.map(pendingRequest) };
    const { output } = end;
    await pipeline.emit("agentCompleted", { run, output });
    return { status: "completed", runId: run.runId, output };
  } catch (error) {
    await pipeline.emitFailure("agentFailed", { run, error });
    throw error;
  } finally {
    unlisten();
  }
}
