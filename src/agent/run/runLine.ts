import { frozenCopy } from "../../internal/frozenCopy.ts";
import type { NextStep } from "../strategy/StrategyGraph.ts";
import type { Wait } from "../node/NodeExecution.ts";
import type { ActiveLine } from "./ActiveLine.ts";
import { advance } from "./advance.ts";
import type { LineEnd } from "./ActiveRun.ts";
import { visitNode } from "./visitNode.ts";
import type { BranchResult } from "../feature/RunRequest.ts";
import type { LeafPlan, ParallelPlan } from "../strategy/GraphPlan.ts";
import { BranchGroup, plannedBranches } from "./BranchGroup.ts";
import { mergeBody } from "./mergeBody.ts";
import type { RunState } from "../state/RunState.ts";

/** Runs the nodes of a run, branch or sub-agent until it finishes or waits. @throws the error of a failed node */
export async function runLine(line: ActiveLine): Promise<LineEnd> {
  const at: LastStep = {};
  try {
    return await takeSteps(line, at);
  } catch (error) {
    if (line.isClosed) return stopped;
    await reportFailure(line, at, error);
    throw error;
  } finally {
    line.end();
  }
}

const stopped = { stopped: true } as const;

interface LastStep {
  step?: NextStep;
}

async function takeSteps(line: ActiveLine, at: LastStep): Promise<LineEnd> {
  const { pipeline, isAgent } = line;
  let step = (at.step = await arrive(line, isAgent ? "strategyStarting" : "branchStarting"));
  for (;;) {
    if (await line.takeMove()) step = at.step = await arrive(line, "runMoved");
    if (step.nodeId === "finish") break;
    const next: NextStep | LineEnd | undefined = await nextStep(line, step);
    if (next && !("nodeId" in next)) return next;
    step = at.step = next ?? step;
  }
  await pipeline.emit(isAgent ? "strategyCompleted" : "branchCompleted", { run: line, output: step.input });
  return { output: step.input };
}

async function reportFailure(line: ActiveLine, { step }: LastStep, error: unknown): Promise<void> {
  const { pipeline, isAgent, root } = line;
  const { nodeId } = step ?? { nodeId: root };
  for (const path of enclosing(nodeId)) await pipeline.emitFailure("subgraphFailed", { run: line, path, error });
  if (isAgent) await pipeline.emitFailure("strategyFailed", { run: line, error });
  else await pipeline.emitFailure("branchFailed", { run: line, nodeId, error });
}

/** Runs a node. Resolves to `undefined` if the run moved. */
async function nextStep(line: ActiveLine, step: NextStep): Promise<NextStep | LineEnd | undefined> {
  if (line.isClosed || line.isStopped) return stopped;
  line.signal.throwIfAborted();
  const node = line.graph.node(step.nodeId);
  const body = node.kind === "parallel" ? await joinBranches(line, step, node) : node;
  // The branches have already waited for these requests.
  if (!body || "waiting" in body) return body;
  line.signal.throwIfAborted();
  const next = await visitNode(line, step, body);
  if (!next) return undefined;
  if ("waiting" in next) return wait(line, next);
  await emitCrossings(line, next);
  return next;
}

async function wait(line: ActiveLine, waiting: Wait): Promise<NextStep | LineEnd> {
  await line.pipeline.emit("lineWaiting", { run: line, requests: waiting.waiting });
  if (await line.answered(waiting.waiting)) {
    await line.takeMove();
    return arrive(line, "lineContinued");
  }
  line.signal.throwIfAborted();
  return line.isClosed ? stopped : waiting;
}

async function arrive(
  line: ActiveLine,
  event: "strategyStarting" | "branchStarting" | "runMoved" | "lineContinued",
): Promise<NextStep> {
  const step = firstStep(line);
  await line.pipeline.emit(event, { run: line, next: step });
  await emitCrossings(line, step);
  return step;
}

function firstStep({ graph, position, root }: ActiveLine): NextStep {
  const { nodeId, unresolved } = position;
  const input = frozenCopy(position.input);
  const here = { input, entered: [], left: [], crossings: [] };
  if (nodeId === "finish") return { nodeId, ...here };
  if (nodeId === "start") return advance(graph, nodeId, input, root);
  if (nodeId === `${root}/start`) return withEntered(advance(graph, nodeId, input, root), root, input);
  const path = graph.resolve(nodeId);
  return unresolved ? advance(graph, path, input, root) : { nodeId: path, ...here };
}

/** If the branch is a subgraph, marks the subgraph as entered by this step. */
function withEntered(step: NextStep, path: string, value: unknown): NextStep {
  return {
    ...step,
    entered: [path, ...step.entered],
    crossings: [{ kind: "entered", path, value }, ...step.crossings],
  };
}

async function emitCrossings(line: ActiveLine, step: NextStep): Promise<void> {
  for (const { kind, path, value } of step.crossings) {
    if (kind === "entered") await line.pipeline.emit("subgraphStarting", { run: line, path, input: value });
    else await line.pipeline.emit("subgraphCompleted", { run: line, path, output: value });
  }
}

function enclosing(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_name, at) => names.slice(0, names.length - at).join("/"));
}

/**
 * Runs the branches of a node concurrently. Resolves to the code that merges their results, to the open requests if all
 * branches wait, or to `undefined` if the run moved.
 */
async function joinBranches(
  line: ActiveLine,
  step: NextStep,
  plan: ParallelPlan,
): Promise<Pick<LeafPlan, "run"> | Wait | undefined> {
  const joined = line.takeJoined() ?? (await startBranches(line, step, plan));
  if (!joined || "waiting" in joined) return joined;
  return { run: mergeBody(line.state, { nodeId: step.nodeId, plan, joined }) };
}

async function startBranches(
  line: ActiveLine,
  { nodeId, input }: NextStep,
  plan: ParallelPlan,
): Promise<ReadonlyMap<string, BranchResult> | Wait | undefined> {
  const branches = plannedBranches(line.graph, nodeId, input);
  await line.pipeline.emit("forkStarting", { run: line, nodeId, input, keys: branches.map(({ key }) => key) });
  const ended = await new BranchGroup(line, nodeId, plan, branches).run();
  if (!ended || "waiting" in ended) return ended;
  addUp(line.state, ended.values());
  await line.pipeline.emit("branchesJoined", { run: line, nodeId, input, results: ended });
  return ended;
}

/** Adds the decisions, requirements and iterations of branches to the state. `mergeBody` merges their storages. */
function addUp(state: RunState, branches: Iterable<BranchResult>): void {
  for (const { decisions, requirements, iterations } of branches) {
    for (const decision of decisions) state.recordDecision(decision);
    const { files = [], environment = {} } = requirements;
    state.require({ files, environment });
    state.iteration += iterations;
  }
}
