import { type LogShapeName, logShapes } from "../errors/storedDataErrors.ts";
import type { AgentSummary, ListOptions, RecordLog } from "./RecordLog.ts";
import { mergeSorted } from "../internal/mergeSorted.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { StorageError } from "../errors/storageErrors.ts";

/** The list options that a summary alone can answer. `free` also requires the owner. */
type Selection = Omit<ListOptions, "free" | "limit" | "readOnly">;

/** Filters, sorts and limits summaries like `RecordLog.list`. */
export function selectSummaries<Summary extends Selected>(
  summaries: readonly Summary[],
  { limit, ...selection }: Omit<ListOptions, "free" | "readOnly">,
): readonly Summary[] {
  return summaries
    .filter((summary) => isSelected(summary, selection))
    .sort(compareSummaries)
    .slice(0, limit);
}

type Selected = Pick<AgentSummary, "agentId" | "status" | "order" | "dueAt" | "updatedAt">;

export function isSelected(
  { status, order, dueAt, updatedAt }: Omit<Selected, "agentId">,
  { status: asked, after, dueBefore, updatedBefore }: Selection,
): boolean {
  return (
    isAmong(status, asked) &&
    (after === undefined || compareText(order, after) > 0) &&
    (dueBefore === undefined || (dueAt !== undefined && Date.parse(dueAt) <= Date.parse(dueBefore))) &&
    (updatedBefore === undefined || Date.parse(updatedAt) <= Date.parse(updatedBefore))
  );
}

export function isAmong(status: string, asked: ListOptions["status"]): boolean {
  if (asked === undefined) return true;
  return typeof asked === "string" ? status === asked : asked.includes(status);
}

/** Compares by `order`, then by agent id if a storage has duplicate orders. */
export function compareSummaries(
  a: Pick<AgentSummary, "order" | "agentId">,
  b: Pick<AgentSummary, "order" | "agentId">,
): number {
  return compareText(a.order, b.order) || compareText(a.agentId, b.agentId);
}

export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = rankOf(a.charCodeAt(at)) - rankOf(b.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Ranks surrogates after all other code units, because they encode the highest code points. */
function rankOf(unit: number): number {
  return unit >= 0xd8_00 && unit < 0xe0_00 ? unit + 0x1_00_00 : unit;
}

/** The prefix of the `order` of logs that are not agents. These logs sort after all agents. */
export const orderBehindAgents = "~~";

/** Lists the agents that match all options, and applies options that the storage does not support. */
export async function* listSummaries(log: RecordLog, options: ListOptions): AsyncGenerator<AgentSummary> {
  for await (const summary of listLogs(log, options)) {
    if (summary.order.startsWith(orderBehindAgents)) return;
    yield summary;
  }
}

export async function* listLogs(log: RecordLog, options: ListOptions): AsyncGenerator<AgentSummary> {
  if (log.capabilities.narrows) return yield* log.list(options);
  const { limit = Infinity, free } = options;
  let left = limit;
  for await (const summary of left > 0 ? listStatuses(log, options) : []) {
    if (!isSelected(summary, options) || (free && (await isOwned(log, summary.agentId)))) continue;
    yield summary;
    if (--left <= 0) return;
  }
}

function listStatuses(log: RecordLog, { status, after, readOnly }: ListOptions): AsyncIterable<AgentSummary> {
  const asked = typeof status === "object" ? [...new Set(status)] : [status];
  const lists = asked.map((one) => log.list(withoutUndefined({ status: one, after, readOnly })));
  return mergeSorted(lists, compareSummaries);
}

/** Whether an agent has a living owner. `false` for an unreadable agent. Opening that agent then fails. */
export async function isOwned(log: RecordLog, agentId: string): Promise<boolean> {
  try {
    return (await log.owner(agentId))?.state === "alive";
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    return false;
  }
}

/** The list status of an agent whose stored status cannot be read. */
export const unreadable = "unreadable" as const;

/** The list status of a log with a data key. */
export const keyStatus = "data_key";

/** Returns the summary of an unreadable agent, so that a list can include it and does not fail. */
export function unreadableSummary(agentId: string, { code, message }: AgentPersistenceError): AgentSummary {
  const unknown = new Date(0).toISOString();
  return {
    agentId,
    status: unreadable,
    order: `${unknown} ${agentId}`,
    requestIds: [],
    position: 0,
    createdAt: unknown,
    updatedAt: unknown,
    data: { code, message },
  };
}

/** Whether an error concerns only a single agent, not the whole storage. */
export function isAboutOneAgent(error: unknown): error is AgentPersistenceError {
  if (error instanceof StorageError) return error.reason === "permission" || error.reason === "io";
  return AgentPersistenceError.isInstance(error) && codesOfOneAgent.test(error.code);
}

const codesOfOneAgent = /^(corrupt_log|unsupported_|key_missing|authentication_failed|seal_broken)/;

/** Returns the kind of a log from its status: `agent`, or a status that names the kind. */
export function shapeOfStatus(status: string): LogShapeName {
  return logShapes.find((shape) => status === shape || status.startsWith(`${shape}_`)) ?? "agent";
}
