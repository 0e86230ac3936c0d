import { ExecutionMovedError } from "../../errors/agent/ExecutionMovedError.ts";
import { onAbort } from "../../internal/abortable.ts";
import { frozenCopy } from "../../internal/copy/frozenCopy.ts";
import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import { isRunMoved } from "../context/RunMoved.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import type { PipelineEvents } from "../feature/PipelineEvents.ts";
import type { RunRequest } from "../feature/RunRequest.ts";
import { pendingRequest, type RunResult } from "../feature/RunResult.ts";
import { advance } from "./advance.ts";
import type { NextStep } from "../strategy/NextStep.ts";
import { NodeContext } from "../visit/NodeContext.ts";
import type { NodeExecution, Wait } from "../visit/NodeExecution.ts";
import { ActiveRun } from "./ActiveRun.ts";

/** Executes a run, inside the interceptors of `aroundRun`. */
export async function executeRun(definition: AgentDefinition, request: RunRequest): Promise<RunResult<unknown>> {
  const { pipeline } = definition;
  const run = new ActiveRun(definition, request, await platformSha256());
  const unlisten = onAbort(run.signal, () => run.abortVisit());
  try {
    await pipeline.emit("agentStarting", { run });
    const end = await runStrategy(run);
    const { runId, usage } = run;
    const facts = { runId, ...(usage && { usage }) };
    if ("waiting" in end)
      return {
        status: "waiting",
        ...facts,
        requests: end.waiting.map((request) => pendingRequest(request, pipeline.abortGrace.clock.now())),
      };
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

type Event = PipelineEvents["nodeStarting"];

/** How a node's body ended. */
type Outcome =
  | { readonly failed: false; readonly output: unknown }
  | { readonly failed: true; readonly error: unknown };

/**
 * Visits one node. Resolves to the next step, to the requests that the run waits for, or to `undefined` if the run moved
 * meanwhile.
 */
export async function visitNode(run: ActiveRun, { nodeId, input }: NextStep): Promise<NextStep | Wait | undefined> {
  const visit = run.enter(nodeId, input);
  try {
    const event: Event = { nodeId, input, context: new NodeContext(visit), run };
    const outcome = await settle(visit, event);
    if ("waiting" in outcome) return outcome;
    if (visit.isMoved) return await afterMove(run, event, outcome);
    return outcome.failed
      ? await fail(run, { ...event, error: outcome.error })
      : await complete(run, event, outcome.output);
  } finally {
    run.leave();
  }
}

/** Runs the body and awaits its pending work, except open requests; after an abort no longer than the grace period. */
async function settle(visit: NodeExecution, event: Event): Promise<Outcome | Wait> {
  const outcome = await visit.untilLeft(runToEnd(visit, event));
  if (!outcome) return { failed: true, error: visit.run.signal.reason };
  if (visit.failure) return { failed: true, ...visit.failure };
  if ("waiting" in outcome) return outcome;
  return outcome.failed && visit.run.signal.aborted ? { failed: true, error: visit.run.signal.reason } : outcome;
}

async function runToEnd(visit: NodeExecution, event: Event): Promise<Outcome> {
  const outcome = await runBody(visit, event).then(
    (output): Outcome => ({ failed: false, output }),
    (error: unknown): Outcome => ({ failed: true, error }),
  );
  if (outcome.failed) visit.allowUnanswered();
  visit.pending.dropRequests();
  await visit.pending.settled();
  return outcome;
}

async function runBody(visit: NodeExecution, event: Event): Promise<unknown> {
  const { pipeline, graph } = visit.run;
  const { nodeId } = event;
  const leaf = graph.leaf(nodeId);
  await pipeline.emit("nodeStarting", event);
  const output = await pipeline.around("node", event, async (accepted) =>
    leaf.run(await checkSchemaAsync(leaf.input, accepted.input, `input of node "${nodeId}"`), accepted.context),
  );
  if (visit.isMoved) return undefined;
  if (isRunMoved(output))
    throw new TypeError(
      `The node "${nodeId}" returned the result of a move, but the run has not moved during this visit.`,
    );
  return frozenCopy(await checkSchemaAsync(leaf.output, output, `output of node "${nodeId}"`));
}

async function afterMove(run: ActiveRun, event: Event, outcome: Outcome): Promise<undefined> {
  try {
    await run.arrival(outcome.failed ? outcome.error : new ExecutionMovedError(event.nodeId));
  } catch (error) {
    await fail(run, { ...event, error });
  }
}

async function complete(run: ActiveRun, event: Event, output: unknown): Promise<NextStep> {
  run.state.iteration++;
  let next: NextStep;
  try {
    next = advance(run.graph, event.nodeId, output);
  } catch (error) {
    return fail(run, { ...event, error, unresolved: { output } });
  }
  const { nodeId, input, context } = event;
  await run.pipeline.emit("nodeCompleted", { nodeId, input, context, run, output, next });
  return next;
}

async function fail(run: ActiveRun, event: PipelineEvents["nodeFailed"]): Promise<never> {
  await run.pipeline.emitFailure("nodeFailed", event);
  throw event.error;
}
