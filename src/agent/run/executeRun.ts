import { onAbort } from "../../internal/abortable.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import type { RunRequest } from "../feature/RunRequest.ts";
import { pendingRequest, type RunResult } from "../feature/RunResult.ts";
import { advance, type NextStep } from "../strategy/advance.ts";
import type { Wait } from "../visit/NodeExecution.ts";
import { ActiveRun } from "./ActiveRun.ts";
import { visitNode } from "./visitNode.ts";

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

/** Visits one node after another until the strategy finishes or waits. Resolves to its output, or to its open requests. */
export async function runStrategy(run: ActiveRun): Promise<{ readonly output: unknown } | Wait> {
  const { pipeline } = run;
  let step: NextStep | undefined;
  try {
    step = firstStep(run);
    await pipeline.emit("strategyStarting", { run, next: step });
    await emitCrossings(run, step);
    for (;;) {
      if (await run.takeMove()) {
        step = firstStep(run);
        await pipeline.emit("runMoved", { run, next: step });
        await emitCrossings(run, step);
      }
      if (step.nodeId === "finish") break;
      run.signal.throwIfAborted();
      const next: NextStep | Wait | undefined = await visitNode(run, step);
      if (!next) continue;
      if ("waiting" in next) {
        await pipeline.emit("agentWaiting", { run, requests: next.waiting });
        return next;
      }
      step = next;
      await emitCrossings(run, step);
    }
    await pipeline.emit("strategyCompleted", { run, output: step.input });
    return { output: step.input };
  } catch (error) {
    for (const path of enclosing(step?.nodeId ?? ""))
      await pipeline.emitFailure("subgraphFailed", { run, path, error });
    await pipeline.emitFailure("strategyFailed", { run, error });
    throw error;
  }
}

/** The first step from where the run begins, or continues after a move. */
function firstStep({ graph, position }: ActiveRun): NextStep {
  const input = frozenCopy(position.input);
  if (position.nodeId === "start") return advance(graph, "start", input);
  if (position.nodeId === "finish") return { nodeId: "finish", input, entered: [], left: [], crossings: [] };
  const nodeId = graph.resolve(position.nodeId);
  return position.unresolved ? advance(graph, nodeId, input) : { nodeId, input, entered: [], left: [], crossings: [] };
}

async function emitCrossings(run: ActiveRun, step: NextStep): Promise<void> {
  for (const { kind, path, value } of step.crossings) {
    if (kind === "entered") await run.pipeline.emit("subgraphStarting", { run, path, input: value });
    else await run.pipeline.emit("subgraphCompleted", { run, path, output: value });
  }
}

/** The subgraphs around a node, innermost first. */
function enclosing(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_name, at) => names.slice(0, names.length - at).join("/"));
}
