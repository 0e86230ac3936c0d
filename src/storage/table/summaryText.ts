import { CorruptLogError } from "../../errors/storedDataErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentSummary } from "../RecordLog.ts";
import { unreadableSummary } from "../unreadableSummary.ts";
import type { LogTable, TableListed, TableSummary } from "./LogTable.ts";

const checksumLength = 43;

/** Returns a summary in table form, which is a checksum followed by JSON, and the list columns. */
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

/** Returns the summary of a listed agent. A damaged text results in the status `unreadable`. */
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
  // Keeps the stored position, so that the next page starts after it.
  return { ...unreadableSummary(agentId, error), order };
}

/** Returns a time in milliseconds since 1970. `undefined` for an invalid time. */
export function timeOf(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
