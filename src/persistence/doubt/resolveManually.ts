import { foldLine } from "../../checkpoint/state/foldTo.ts";
import type { OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import { ToolCallNotInDoubtError } from "../../errors/toolCallErrors.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { LoggedCall } from "../../journal/loggedCalls.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { callsInDoubt, inverseIdOf, inversesToSettle, settledInverse } from "./callsInDoubt.ts";
import { settledOutcome, type ToolCallSettlement } from "../../doubt/ToolCallInDoubt.ts";

/**
 * Records the outcome of a call in doubt, or of an inverse that is in doubt or blocks a rollback. Durable when it
 * resolves.
 *
 * @throws ToolCallNotInDoubtError, NotSerializableError
 */
export async function resolveManually(
  journal: Journal,
  toolCallId: string,
  settlement: ToolCallSettlement,
): Promise<void> {
  const log = await journal.readAll();
  const reverts = inversesToSettle(log).find(({ call }) => inverseIdOf(call, journal) === toolCallId);
  const record = reverts
    ? settledInverse(reverts.call, settlement, "outside")
    : outcomeRecord(journal, log, findInDoubt(journal.agentId, log, toolCallId), settlement);
  await journal.store([record]);
}

function outcomeRecord(
  journal: Journal,
  log: AgentLog,
  call: LoggedCall,
  settlement: ToolCallSettlement,
): OutcomeRecord {
  const end = settledOutcome(settlement, "outside", call.tool, journal.writer);
  const { visit, call: id } = call;
  return { kind: "outcome", lane: laneFor(log, call), visit, call: id, ...end };
}

function laneFor({ index }: AgentLog, { call, lane }: LoggedCall): number {
  const newest = index.lines.nestedLine(lane)?.lane ?? index.lines.mainLane;
  return foldLine(index, newest)?.calls.has(call) ? newest : lane;
}

function findInDoubt(agentId: string, log: AgentLog, toolCallId: string): LoggedCall {
  const inDoubt = callsInDoubt(log);
  const found = inDoubt.find(({ call }) => call === toolCallId);
  if (found) return found;
  const named = inDoubt.map(({ call, tool }) => ({ toolCallId: call, toolName: tool }));
  throw new ToolCallNotInDoubtError(agentId, toolCallId, log.index.ended.has(toolCallId), named);
}
