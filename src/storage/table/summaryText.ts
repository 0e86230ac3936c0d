import { CorruptLogError } from "../../errors/storage/CorruptLogError.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentSummary } from "../RecordLog.ts";
import { unreadableSummary } from "../unreadableSummary.ts";
import type { LogTable, TableListed, TableSummary } from "./LogTable.ts";

const checksumLength = 43;

/** A summary as a table keeps it: its JSON behind its checksum, and what a list selects by beside it. */
export function tableSummary(summary: AgentSummary, sha256: Sha256): TableSummary {
  const { status, order, dueAt, updatedAt } = summary;
  const json = JSON.stringify(summary);
  return {
    status,
    order,
    ...(dueAt !== undefined && { dueAt: timeOf(dueAt) }),
    updatedAt: timeOf(updatedAt) ?? 0,
    text: `${sha256.base64url(json)}${json}`,
  };
}

/** The summary of an agent in a list; one in the status `unreadable` for what is not the text that was stored. */
export function listedSummary(
  { agentId, order, text }: TableListed,
  { name }: Pick<LogTable, "name">,
  sha256: Sha256,
): AgentSummary {
  const json = text.slice(checksumLength);
  if (sha256.base64url(json) === text.slice(0, checksumLength)) {
    const summary = JSON.parse(json) as AgentSummary;
    if (summary.agentId === agentId) return summary;
  }
  const error = new CorruptLogError(agentId, { file: name }, "the summary or the id of the agent was changed");
  // In the place where it was found: a next page begins behind it.
  return { ...unreadableSummary(agentId, error), order };
}

/** A time in milliseconds since 1970; `undefined` for a text that is none. */
export function timeOf(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
