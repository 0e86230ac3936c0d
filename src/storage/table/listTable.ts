import type { AgentSummary, ListOptions } from "../RecordLog.ts";
import { compareSummaries, unreadable, unreadableSummary } from "../summaries.ts";
import { object } from "../../checkpoint/format/fieldTests.ts";
import { parsedJson } from "../../internal/parsedJson.ts";
import { isSummary } from "../appends/isSummary.ts";
import { askTableAgain, type RetriedTable } from "./askTable.ts";
import type { LogTable, TableListed, TableSelection, TableSummary } from "./LogTable.ts";
import { CorruptLogError } from "../../errors/storedDataErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

const checksumLength = 43;

const listedAtOnce = 100;
/** The page size after the first page, for lists of agents without an owner, which skip all running agents. */
const passedAtOnce = 2_500;

type Selection = Omit<ListOptions, "limit">;

/** Lists the agents of a table page by page. May yield more agents than requested, because the caller filters them. */
export async function* listTable(
  retried: RetriedTable & { readonly table: LogTable },
  selection: Selection,
  most: number,
): AsyncGenerator<TableListed> {
  const { free, after: order } = selection;
  const narrowing = narrowingOf(selection);
  if (narrowing.statuses?.length === 0) return;
  const asked = { ...narrowing, ...(free && { passingLimit: passedAtOnce }) };
  let limit = Math.min(listedAtOnce, Math.ceil(most));
  let before: { readonly order: string; readonly agentId: string } | undefined;
  for (;;) {
    const page = { ...asked, after: before ?? (order === undefined ? undefined : { order }), limit };
    const { agents, more } = await askTableAgain(retried, "list", undefined, () => retried.table.list(page));
    yield* agents;
    const last = agents.at(-1);
    if (last === undefined || !more) return;
    const next = { order: last.order, agentId: last.agentId };
    // If a damaged row is sorted by another value than its `order`, the next page repeats the row, so pages must grow.
    if (before !== undefined && compareSummaries(next, before) <= 0) limit *= 2;
    else if (free) limit = passedAtOnce;
    before = next;
  }
}

function narrowingOf({ status, dueBefore, updatedBefore }: Selection): Omit<TableSelection, "limit"> {
  const statuses = status === undefined ? undefined : [...new Set(typeof status === "string" ? [status] : status)];
  return {
    // A damaged agent is listed as `unreadable`, but can have any stored status.
    ...(statuses !== undefined && !statuses.includes(unreadable) && { statuses }),
    dueBefore: timeOf(dueBefore),
    updatedBefore: timeOf(updatedBefore),
  };
}

/**
 * Returns the columns of a summary. `text` is a checksum followed by JSON. The JSON omits the id and the order, which
 * are separate columns, but the checksum covers them.
 */
export function tableSummary(summary: AgentSummary, sha256: Sha256): TableSummary {
  const { agentId, status, order, dueAt, updatedAt, ...rest } = summary;
  const json = JSON.stringify({ status, dueAt, updatedAt, ...rest });
  return {
    status,
    order,
    ...(dueAt !== undefined && { dueAt: timeOf(dueAt) }),
    updatedAt: timeOf(updatedAt) ?? 0,
    text: `${checksumOf(json, { agentId, order }, sha256)}${json}`,
  };
}

/** Returns the summary of a listed agent. A damaged text results in the status `unreadable`. */
export function listedSummary(
  { agentId, order, text }: TableListed,
  { name }: Pick<LogTable, "name">,
  sha256: Sha256,
): AgentSummary {
  const summary = verifiedJson(text, { agentId, order }, sha256);
  if (isSummary(summary) && summary.agentId === agentId) return summary;
  const error = new CorruptLogError(agentId, { file: name }, "the summary or the id of the agent was changed");
  // Keeps the stored `order`, so that the next page starts after this agent.
  return { ...unreadableSummary(agentId, error), order };
}

function verifiedJson(
  text: string,
  { agentId, order }: Pick<AgentSummary, "agentId" | "order">,
  sha256: Sha256,
): unknown {
  const [checksum, json] = [text.slice(0, checksumLength), text.slice(checksumLength)];
  if (checksumOf(json, { agentId, order }, sha256) === checksum) {
    const rest = parsedJson(json);
    // V8 reads an object faster than its copy by spread.
    return object(rest) ? Object.assign(rest as object, { agentId, order }) : undefined;
  }
  // Earlier versions stored the whole summary as JSON.
  return sha256.base64url(json) === checksum ? parsedJson(json) : undefined;
}

function checksumOf(json: string, { agentId, order }: Pick<AgentSummary, "agentId" | "order">, sha256: Sha256): string {
  return sha256.base64url(JSON.stringify([agentId, order]) + json);
}

/** Returns a time in milliseconds since 1970. `undefined` for an invalid time. */
function timeOf(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
