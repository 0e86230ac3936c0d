import { onAbort } from "../../internal/abortable.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import type { RunRequest, RunStart } from "../feature/RunRequest.ts";
import { pendingRequest, type RunResult } from "../feature/RunResult.ts";
import { ActiveLine } from "./ActiveLine.ts";
import { ActiveRun } from "./ActiveRun.ts";
import { callAgent } from "./callAgent.ts";
import { runLine } from "./runLine.ts";

export async function executeRun(definition: AgentDefinition, request: RunRequest): Promise<RunResult<unknown>> {
  const { pipeline } = definition;
  const { start } = request;
  if (request.kind === "resume" && !start)
    throw new TypeError("A resume needs a start. The feature that claims it has to set request.start.");
  const active = new ActiveRun(request, await platformSha256(), runLine, callAgent);
  const run = new ActiveLine(active, definition, start ?? freshStart(request, active), { isFresh: !start });
  const unlisten = onAbort(run.signal, () => active.abort());
  try {
    await pipeline.emit("agentStarting", { run });
    const end = await runLine(run);
    // Only an abort stops the main line.
    if ("stopped" in end) throw run.signal.reason;
    const { runId, usage } = run;
    const facts = { runId, ...(usage && { usage }) };
    if ("waiting" in end) {
      await pipeline.emit("agentWaiting", { run, requests: end.waiting });
      const now = pipeline.abortGrace.clock.now();
      return { status: "waiting", ...facts, requests: end.waiting.map((asked) => pendingRequest(asked, now)) };
    }
    const { output } = end;
    await pipeline.emit("agentCompleted", { run, output });
    return { status: "completed", ...facts, output };
  } catch (error) {
    await pipeline.emitFailure("agentFailed", { run, error });
    throw error;
  } finally {
    unlisten();
  }
}

function freshStart({ agentId, input, options }: RunRequest, run: ActiveRun<ActiveLine>): RunStart {
  const runId = ("runId" in options ? options.runId : undefined) ?? globalThis.crypto.randomUUID();
  return {
    nodeId: "start",
    input,
    state: {},
    line: { agentId, runId, lane: run.nextLane++ },
    generation: 0,
    visitBase: 0,
    visitOrdinal: 0,
    runId,
  };
}
