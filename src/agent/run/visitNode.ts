import { ExecutionMovedError } from "../../errors/runErrors.ts";
import { copyMutableParts, frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import { isRunMoved } from "../strategy/Strategy.ts";
import type { PipelineEvents } from "../feature/PipelineEvents.ts";
import type { LeafPlan } from "../strategy/GraphPlan.ts";
import type { NextStep } from "../strategy/StrategyGraph.ts";
import { NodeContext } from "../node/NodeContext.ts";
import type { NodeExecution, Wait } from "../node/NodeExecution.ts";
import type { ActiveLine } from "./ActiveLine.ts";
import { advance } from "./advance.ts";
import { isMessage, type Message, partsOfType } from "../../checkpoint/messages/Message.ts";
import { UnansweredToolCallError } from "../../errors/toolCallErrors.ts";
import { textOf } from "../model/nodes.ts";

type Event = PipelineEvents["nodeStarting"];

type Body = Pick<LeafPlan, "run" | "input" | "output">;

type Outcome =
  | { readonly failed: false; readonly output: unknown }
  | { readonly failed: true; readonly error: unknown };

/** Runs one node. Resolves to the next step, to the open requests of the run, or to `undefined` if the run moved. */
export async function visitNode(
  line: ActiveLine,
  { nodeId, input }: NextStep,
  node: Body,
): Promise<NextStep | Wait | undefined> {
  const visit = line.enter(nodeId, input);
  try {
    const event: Event = { nodeId, input, context: new NodeContext(visit), run: line };
    const outcome = await settle(visit, event, node);
    if ("waiting" in outcome) return outcome;
    if (visit.isMoved) return await afterMove(line, event, outcome);
    return outcome.failed
      ? await fail(line, { ...event, error: outcome.error })
      : await complete(line, event, outcome.output);
  } finally {
    visit.end();
    line.leave();
  }
}

/** Runs the code of a node and awaits its work, except open requests. After an abort, waits for the grace period. */
async function settle(visit: NodeExecution, event: Event, node: Body): Promise<Outcome | Wait> {
  const outcome = await visit.untilLeft(runToEnd(visit, event, node));
  if (!outcome) return { failed: true, error: visit.run.signal.reason };
  if (visit.failure) return { failed: true, ...visit.failure };
  if ("waiting" in outcome) return outcome;
  return outcome.failed && visit.run.signal.aborted ? { failed: true, error: visit.run.signal.reason } : outcome;
}

async function runToEnd(visit: NodeExecution, event: Event, node: Body): Promise<Outcome> {
  const outcome = await runBody(visit, event, node).then(
    (output): Outcome => ({ failed: false, output }),
    (error: unknown): Outcome => ({ failed: true, error }),
  );
  if (outcome.failed) visit.allowUnanswered();
  visit.pending.dropRequests();
  await visit.pending.settled();
  return outcome;
}

async function runBody(visit: NodeExecution, event: Event, node: Body): Promise<unknown> {
  const { pipeline } = visit.run;
  const { nodeId } = event;
  await pipeline.emit("nodeStarting", event);
  const output = await pipeline.around("node", event, async ({ input, context }) => {
    // Copies the input, because the node can change it, but checkpoints and branches need the original. A message is
    // not copied, because the history contains this object.
    const given = isMessage(input) ? input : copyMutableParts(input);
    return node.run(await checkSchemaAsync(node.input, given, `input of node "${nodeId}"`), context);
  });
  if (visit.isMoved) return undefined;
  if (isRunMoved(output))
    throw new TypeError(
      `The node "${nodeId}" returned the result of a move, but the run has not moved during this visit.`,
    );
  return frozenCopy(await checkSchemaAsync(node.output, output, `output of node "${nodeId}"`));
}

async function afterMove(line: ActiveLine, event: Event, outcome: Outcome): Promise<undefined> {
  try {
    await line.arrival(outcome.failed ? outcome.error : new ExecutionMovedError(event.nodeId));
  } catch (error) {
    await fail(line, { ...event, error });
  }
}

async function complete(line: ActiveLine, event: Event, output: unknown): Promise<NextStep> {
  line.countIteration();
  let next: NextStep;
  try {
    next = advance(line.graph, event.nodeId, output, line.root);
    assertAnswered(event.nodeId, output, next, line.state.history.messages);
  } catch (error) {
    return fail(line, { ...event, error, unresolved: { output } });
  }
  // An abort before any other node is noticed when that node starts.
  if (next.nodeId === "finish" && line.signal.aborted) return fail(line, { ...event, error: line.signal.reason });
  const { nodeId, input, context } = event;
  await line.pipeline.emit("nodeCompleted", { nodeId, input, context, run: line, output, next });
  return next;
}

async function fail(line: ActiveLine, event: PipelineEvents["nodeFailed"]): Promise<never> {
  await line.pipeline.emitFailure("nodeFailed", event);
  throw event.error;
}

/**
 * Rejects an output that is only the text of a response with tool calls, because these calls would be lost.
 *
 * @throws UnansweredToolCallError
 */
function assertAnswered(nodeId: string, output: unknown, next: NextStep, history: readonly Message[]): void {
  const ended = endedWith(next);
  if (!ended || !isMessage(output) || output.role !== "assistant" || typeof output.content === "string") return;
  if (ended.value !== textOf(output)) return;
  const asked = output.content.filter((part) => part.type === "tool-call");
  if (asked.length === 0) return;
  const answered = new Set(
    history.flatMap((message) => partsOfType(message, "tool-result")).map(({ toolCallId }) => toolCallId),
  );
  const open = asked.filter(({ toolCallId }) => !answered.has(toolCallId)).map(({ toolName }) => toolName);
  if (open.length > 0) throw new UnansweredToolCallError(nodeId, open);
}

function endedWith({ nodeId, input, crossings: [first] }: NextStep): { readonly value: unknown } | undefined {
  if (first) return first.kind === "left" ? { value: first.value } : undefined;
  return nodeId === "finish" ? { value: input } : undefined;
}
