import { onAbort } from "../../internal/abortable.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import type { SubAgent } from "../agentAsTool/agentAsTool.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import { startOfLane, type RunRequest, type RunStart } from "../feature/RunRequest.ts";
import { pendingRequest, type RunResult } from "../feature/RunResult.ts";
import { ActiveLine, type Nesting } from "./ActiveLine.ts";
import { ActiveRun } from "./ActiveRun.ts";
import { runLine } from "./runLine.ts";
import { ExecutionMovedError } from "../../errors/runErrors.ts";
import { InvalidStrategyError } from "../../errors/strategyErrors.ts";
import type { AgentCallBeginning, AgentCallEvent } from "../feature/PipelineEvents.ts";
import { markRunFailure } from "../feature/Pipeline.ts";
import type { AgentCall } from "../node/NodeExecution.ts";

export async function executeRun(definition: AgentDefinition, request: RunRequest): Promise<RunResult<unknown>> {
  const { pipeline } = definition;
  const { start } = request;
  if (request.kind === "resume" && !start)
    throw new TypeError("The feature that claims `resume` must set request.start.");
  const active = new ActiveRun(request, await platformSha256(), runLine, callAgent);
  const run = new ActiveLine(active, definition, start ?? freshStart(request, active), { isFresh: !start });
  const unlisten = onAbort(run.signal, () => active.abort());
  try {
    await pipeline.emit("agentStarting", { run });
    const end = await runLine(run);
    // Only an abort stops the run itself.
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
  const runId = ("runId" in options ? options.runId : undefined) ?? crypto.randomUUID();
  const line = { agentId, runId, lane: run.nextLane++ };
  return { nodeId: "start", input, state: {}, line, generation: 0, visitBase: 0, visitOrdinal: 0, runId };
}

/** The maximum number of agents that run inside each other. A deeper call is an endless recursion. */
const mostNestedAgents = 32;

async function callAgent(caller: ActiveLine, agent: SubAgent, call: AgentCall): Promise<unknown> {
  const { toolCallId, toolName, onWaiting } = call;
  const { definition } = agent;
  const start = startOf(caller, agent.inputOf(call.input));
  const event = { run: caller, toolCallId, toolName, callee: definition.pipeline.hooks, start };
  const begun = await begin(caller, event);
  if ("output" in begun) return begun.output;
  const nesting: Nesting = {
    parent: caller,
    root: "",
    branch: caller.branch,
    call: { toolCallId, toolName },
    onWaiting: () => onWaiting(true),
    onGoingOn: async () => onWaiting(false),
  };
  return outputOf(new ActiveLine(caller.run, definition, begun.start, { isFresh: false, nesting }));
}

async function begin(caller: ActiveLine, event: AgentCallEvent): Promise<AgentCallBeginning> {
  try {
    assertDepth(caller);
    return await caller.pipeline.around("agentCall", event, async ({ start }) => ({ start }));
  } catch (error) {
    markRunFailure(error);
    throw error;
  }
}

/** @throws InvalidStrategyError */
function assertDepth({ agentPath, graph }: ActiveLine): void {
  if (agentPath.length >= mostNestedAgents)
    throw new InvalidStrategyError(graph.name, `${agentPath.length} calls of agents are open. End the recursion.`);
}

function startOf(line: ActiveLine, input: unknown): RunStart {
  const state = { numbers: line.state.history.numbers };
  return { nodeId: "start", input, state, ...startOfLane(line, line.run.nextLane++) };
}

async function outputOf(line: ActiveLine): Promise<unknown> {
  const { pipeline } = line;
  try {
    await pipeline.emit("agentStarting", { run: line });
    const end = await line.run.runLine(line);
    if ("output" in end) {
      await pipeline.emit("agentCompleted", { run: line, output: end.output });
      return end.output;
    }
    if (line.isClosed) throw new ExecutionMovedError(line.position.nodeId);
    if (line.isStopped) line.waits();
    // The calling node ends its execution without this call. When it continues, it makes the call again.
    return await new Promise<never>(() => undefined);
  } catch (error) {
    await pipeline.emitFailure("agentFailed", { run: line, error });
    throw error;
  }
}
