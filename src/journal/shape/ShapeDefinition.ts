import type { FieldTests } from "../../checkpoint/format/fieldTests.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import type { LogShapeName } from "../../errors/storedDataErrors.ts";
import { orderBehindAgents } from "../../storage/summaries.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";

const latestTime = 8.64e15;
const timeDigits = 16;

/** The definition of a kind of log that does not belong to an agent: the kinds of records, and the state. */
export interface ShapeDefinition<Rec extends LogRecord, State extends ShapeState<Rec>> {
  /**
   * The name of the shape: the default status of these logs, the shape in their first record, the prefix of their ids.
   */
  readonly name: Exclude<LogShapeName, "agent">;
  /** The version of the records, from 1. Logs with a higher version are rejected. */
  readonly version: number;
  /** Tests of the fields of each kind of record, except stored values. `shape` and `pruned` are reserved kinds. */
  readonly records: Readonly<Record<Rec["kind"], FieldTests>>;
  /** Returns the stored values in a record. A blob is kept while a record of the rewritten log has its value. */
  values(record: Rec): readonly StoredValue[];
  begin(): State;
  /** The status of a log in lists. A new status is listed at once. Defaults to the name. */
  status?(state: State): string;
  /**
   * Returns records that restore the state without all older records. Then only these are rewritten, and the log cannot
   * be pruned. Empty if impossible. If the method is missing, the whole log is rewritten.
   */
  part?(state: State): readonly Rec[];
  /** Returns the due time of the log in milliseconds since 1970, if any. Each append then updates the summary. */
  dueAt?(state: State): number | undefined;
}

export interface ShapeState<Rec extends LogRecord> {
  /**
   * Adds a record with valid fields, in time proportional to its size.
   *
   * @throws TypeError, RangeError if it does not match the earlier records. The log is then unreadable.
   */
  add(record: Rec): void;
  /** Returns the fewest records that build this state from an empty log. */
  restate(): Iterable<Rec>;
}

/** Returns the id under which a log is stored. The prefix separates agents, threads and sessions with the same name. */
export function logIdOf({ name }: { readonly name: string }, id: string): string {
  return `${name}:${id}`;
}

/** Returns the summary of a log of another shape. Lists start with its latest change. Times are in milliseconds. */
export function shapeSummary(
  shape: { readonly name: string },
  id: string,
  createdAt: number,
  now: number,
  dueAt?: number,
): AgentSummary {
  const agentId = logIdOf(shape, id);
  const left = String(latestTime - now).padStart(timeDigits, "0");
  return {
    agentId,
    status: shape.name,
    order: `${orderBehindAgents}${left} ${agentId}`,
    ...(dueAt !== undefined && { dueAt: new Date(dueAt).toISOString() }),
    requestIds: [],
    position: 0,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(now).toISOString(),
    data: {},
  };
}
