import { stateAt } from "../checkpoint/AgentState.ts";
import { ToolCallNotInDoubtError } from "../errors/ToolCallNotInDoubtError.ts";
import type { Journal } from "../journal/Journal.ts";
import type { LoggedCall } from "../journal/loggedCalls.ts";
import type { AgentLog } from "../storage/AgentLog.ts";
import { callsInDoubt } from "./callsInDoubt.ts";
import { settledOutcome, type ToolCallSettlement } from "./ToolCallSettlement.ts";

/** Records what became of a call in doubt. Durable when it resolves. @throws ToolCallNotInDoubtError, NotSerializableError */
export async function settleFromOutside(
  journal: Journal,
  toolCallId: string,
  settlement: ToolCallSettlement,
): Promise<void> {
  const log = await journal.readAll();
  const call = findInDoubt(journal.agentId, log, toolCallId);
  const end = settledOutcome(settlement, "outside", (output) =>
    journal.writer.value(output, `the settled output of "${call.tool}"`),
  );
  const { visit, call: id } = call;
  journal.append([{ kind: "outcome", lane: laneFor(log, call), visit, call: id, ...end }]);
  await journal.durable();
}

/** The line of the head where it has the call, since that is where the run goes on; else the call's own. */
function laneFor({ index }: AgentLog, { call, lane }: LoggedCall): number {
  const head = stateAt(index);
  return head?.calls.has(call) ? head.lane : lane;
}

function findInDoubt(agentId: string, log: AgentLog, toolCallId: string): LoggedCall {
  const inDoubt = callsInDoubt(log);
  const found = inDoubt.find(({ call }) => call === toolCallId);
  if (found) return found;
  const named = inDoubt.map(({ call, tool }) => ({ toolCallId: call, toolName: tool }));
  throw new ToolCallNotInDoubtError(agentId, toolCallId, log.index.ended.has(toolCallId), named);
}
