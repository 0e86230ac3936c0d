import { ExecutionMovedError } from "../../errors/agent/ExecutionMovedError.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import type { ActiveRun } from "./ActiveRun.ts";
import { advance, type NextStep } from "../strategy/advance.ts";
import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import { NodeContext } from "../visit/NodeContext.ts";
import type { PipelineEvents } from "../feature/PipelineEvents.ts";
import { isRunMoved } from "../context/RunMoved.ts";
import type { NodeExecution, Wait } from "../visit/NodeExecution.ts";

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
