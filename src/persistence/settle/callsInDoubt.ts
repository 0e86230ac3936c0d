import { codeOfTool, type ToolEffect } from "../../agent/tool/Tool.ts";
import type { RevertedRecord } from "../../checkpoint/records/rollbackRecords.ts";
import { inverseIdOf } from "../../checkpoint/ids/toolCallId.ts";
import type { Journal } from "../../journal/Journal.ts";
import { type LoggedCall, loggedCalls, read } from "../../journal/loggedCalls.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { Inverse } from "../inverses/RollbackToolRegistry.ts";
import { settledOutcome } from "../../doubt/askWhatHappened.ts";
import type { ToolCallInDoubt, ToolCallSettlement } from "../../doubt/ToolCallInDoubt.ts";
import { foldLine } from "../../checkpoint/state/foldTo.ts";
import { isUnsettled } from "../../checkpoint/records/callRecords.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { ToolCallNotInDoubtError } from "../../errors/toolCallErrors.ts";

/** Returns the calls of this agent. A fork cannot settle the calls of its original. */
function ownCalls({ index, blobs }: AgentLog): readonly LoggedCall[] {
  return loggedCalls(index, blobs).filter(({ owner }) => owner === undefined);
}

export function callsInDoubt(log: AgentLog): readonly LoggedCall[] {
  const { reverted } = log.index;
  return ownCalls(log).filter(
    ({ call, effect, outcome }) => effect !== "none" && isUnsettled(outcome) && !reverted.has(call),
  );
}

export function inversesInDoubt(log: AgentLog): readonly LoggedCall[] {
  return ownCalls(log).filter(({ call }) => log.index.inverting.has(call));
}

/** Returns the calls whose inverse is in doubt, blocks a rollback, or was already settled. */
function inversesToSettle(log: AgentLog): readonly LoggedCall[] {
  const { index } = log;
  const open = new Set([...(index.rollback?.calls ?? []), ...index.inverting, ...index.left.keys()]);
  return ownCalls(log).filter(({ call }) => open.has(call) && !index.reverted.has(call));
}

export function toolCallInDoubt(agentId: string, call: LoggedCall): ToolCallInDoubt {
  const { outcome } = call;
  return {
    agentId,
    toolCallId: call.call,
    toolName: call.tool,
    nodeId: call.node,
    effect: call.effect as ToolEffect,
    ...inputOf(call),
    ...(outcome && !outcome.late && { settled: outcome.retry ? ("retry" as const) : ("unknown" as const) }),
  };
}

/** A call with an unreadable input can still be resolved. */
function inputOf(call: LoggedCall): Pick<ToolCallInDoubt, "input" | "unreadable"> {
  const { value: input, unreadable } = read(call.input);
  return unreadable === undefined ? { input } : { input, unreadable };
}

export function inverseName(tool: string, inverse: Inverse | undefined): string {
  return inverse?.kind === "tool" ? inverse.inverse.name : `inverse of ${tool}`;
}

export function inverseInDoubt(
  call: LoggedCall,
  inverse: Inverse | undefined,
  journal: Pick<Journal, "agentId" | "sha256">,
): ToolCallInDoubt {
  return {
    agentId: journal.agentId,
    toolCallId: inverseIdOf(call.call, journal),
    toolName: inverseName(call.tool, inverse),
    nodeId: call.node,
    effect: inverse?.effect ?? "irreversible",
    ...inputOf(call),
    reverts: call.call,
  };
}

/** Empty for a tool of another runtime, which cannot declare that an inverse is safe to repeat. */
export function declarationOf(inverse: Inverse): string {
  if (codeOfTool(inverse.tool)) return "";
  return inverse.kind === "tool"
    ? `tool({ name: ${JSON.stringify(inverse.inverse.name)}, effect: "idempotent", … })`
    : `registerRollback(${inverse.tool.name}, …, { effect: "idempotent" })`;
}

export function settledInverse(
  call: string,
  settlement: ToolCallSettlement,
  settled: RevertedRecord["settled"] & string,
): RevertedRecord {
  const record = { kind: "reverted", call, settled } as const;
  if (settlement === "retry") return { ...record, error: { message: "to be tried again" } };
  if (settlement === "unknown") return { ...record, error: { message: "not known whether it ran" }, left: true };
  if ("error" in settlement) return { ...record, error: { message: settlement.error }, left: true };
  return record;
}

interface Settling {
  readonly log: RecordLog;
  /** Returns a settlement in stored form. */
  redacted(call: LoggedCall, settlement: ToolCallSettlement): ToolCallSettlement;
}

/**
 * Records the outcome of a call in doubt, or of an inverse that is in doubt or blocks a rollback.
 *
 * @throws ToolCallNotInDoubtError, NotSerializableError
 */
export async function resolveManually(
  settling: Settling,
  journal: Journal,
  toolCallId: string,
  settlement: ToolCallSettlement,
): Promise<void> {
  const { agentId } = journal;
  const log = await AgentLog.readRecent(settling.log, agentId, (recent) => showsDoubt(recent, toolCallId));
  const reverts = inversesToSettle(log).find(({ call }) => inverseIdOf(call, journal) === toolCallId);
  if (reverts) return journal.store([settledInverse(reverts.call, settlement, "outside")]);
  const call = findInDoubt(agentId, log, toolCallId);
  const end = settledOutcome(settling.redacted(call, settlement), "outside", call.tool, journal.writer);
  const { lane, outcome } = newestOf(log, call);
  // A call that exceeded its time limit can have changed the state of the run before.
  const { changes, renames } = (settlement !== "retry" && outcome) || {};
  const record = { kind: "outcome", lane, visit: call.visit, call: toolCallId, ...end } as const;
  await journal.store([withoutUndefined({ ...record, changes, renames })]);
}

/** Returns whether the records since the newest snapshot show all facts about a call in doubt. */
function showsDoubt(recent: AgentLog, toolCallId: string): boolean {
  const { base, rollback, redoneFrom, origins } = recent.index;
  // A snapshot of open branches can contain calls of the agent from which this agent was forked.
  if (!base || base.isPassed || rollback || redoneFrom.size > 0 || origins.length > 0) return false;
  const call = callsInDoubt(recent).find(({ call: id }) => id === toolCallId);
  return call !== undefined && call.tool !== "" && read(call.input).unreadable === undefined;
}

/** Returns the newest lane that contains a call, and the outcome of the call there. */
function newestOf({ index }: AgentLog, made: LoggedCall): Pick<LoggedCall, "lane" | "outcome"> {
  const lane = index.lines.nestedLine(made.lane)?.lane ?? index.lines.mainLane;
  const known = foldLine(index, lane)?.calls.get(made.call);
  return known ? { ...known, lane } : made;
}

function findInDoubt(agentId: string, log: AgentLog, toolCallId: string): LoggedCall {
  const inDoubt = callsInDoubt(log);
  const found = inDoubt.find(({ call }) => call === toolCallId);
  if (found) return found;
  const named = inDoubt.map(({ call, tool }) => ({ toolCallId: call, toolName: tool }));
  throw new ToolCallNotInDoubtError(agentId, toolCallId, log.index.ended.has(toolCallId), named);
}
