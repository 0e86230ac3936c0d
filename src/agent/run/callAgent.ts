import { ExecutionMovedError } from "../../errors/runErrors.ts";
import type { AgentCallBeginning, AgentCallEvent } from "../feature/PipelineEvents.ts";
import { markRunFailure } from "../feature/runFailure.ts";
import type { RunStart } from "../feature/RunRequest.ts";
import type { SubAgent } from "../feature/SubAgent.ts";
import type { AgentCall } from "../visit/NodeExecution.ts";
import { ActiveLine, type Nesting } from "./ActiveLine.ts";

/**
 * Runs a sub-agent for a tool call, as a line inside the caller's line. Resolves to its output. @throws the error of a
 * failed run
 */
export async function callAgent(caller: ActiveLine, agent: SubAgent, call: AgentCall): Promise<unknown> {
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
    return await caller.pipeline.around("agentCall", event, async ({ start }) => ({ start }));
  } catch (error) {
    markRunFailure(error);
    throw error;
  }
}

function startOf({ run, agentId, runId, generation, state }: ActiveLine, input: unknown): RunStart {
  const lane = run.nextLane++;
  return {
    nodeId: "start",
    input,
    state: { numbers: state.history.numbers },
    line: { agentId, runId, lane },
    generation,
    visitBase: -lane,
    visitOrdinal: 0,
    runId,
  };
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
    // The visit of the caller ends without this call, which is repeated when the line continues.
    return await new Promise<never>(() => undefined);
  } catch (error) {
    await pipeline.emitFailure("agentFailed", { run: line, error });
    throw error;
  }
}
