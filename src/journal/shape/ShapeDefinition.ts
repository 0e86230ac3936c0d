import type { FieldTests } from "../../checkpoint/format/fieldTests.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import type { LogShapeName } from "../../errors/storedDataErrors.ts";
import { orderBehindAgents } from "../../storage/summaries.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";

const latestTime = 8.64e15;
const timeDigits = 16;

/** The definition of a kind of log other than an agent's log: its records and its state. */
export interface ShapeDefinition<Rec extends LogRecord, State extends ShapeState<Rec>> {
  /** The name of the kind. It is the default status of its logs, is in their first record, and prefixes their ids. */
  readonly name: Exclude<LogShapeName, "agent">;
  /** The version of the records, from 1. Logs with a higher version are rejected. */
  readonly version: number;
  /** Tests for the fields of each kind of record, except stored values. `shape` and `pruned` are reserved names. */
  readonly records: Readonly<Record<Rec["kind"], FieldTests>>;
  /** Returns the stored values in a record. A pruning keeps the blobs of the records that remain. */
  values(record: Rec): readonly StoredValue[];
  begin(): State;
  /** Returns the status of a log in lists. A change is visible at once. Defaults to the name. */
  status?(state: State): string;
  /**
   * Returns the records of a part from which the log can be read without all older records. Returns an empty list if
   * this is impossible. A log with this method repeats only parts and cannot be pruned. A log without this method
   * repeats the whole state.
   */
  part?(state: State): readonly Rec[];
  /** Returns when the log is due, in milliseconds since 1970. With this method, each append updates the summary. */
  dueAt?(state: State): number | undefined;
}

export interface ShapeState<Rec extends LogRecord> {
  /**
   * Adds a record with valid fields, in time proportional to its size.
   *
   * @throws TypeError, RangeError if the record contradicts earlier records, so that the log is unreadable.
   */
  add(record: Rec): void;
  /** Returns the fewest records that build this state from an empty log. */
  restate(): Iterable<Rec>;
}

/** Returns the id of a log in the storage. The prefix separates agents, threads and sessions with the same name. */
export function logIdOf({ name }: { readonly name: string }, id: string): string {
  return `${name}:${id}`;
}

/** Returns the summary of a log that belongs to no agent. Lists start with the latest change. Times are in ms. */
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
