import { ValueWriter, historyRecords, storageRecords } from "../../checkpoint/format/ValueWriter.ts";
import {
  contentKey,
  editsBetween,
  MessageHistory,
  type NumberedMessage,
} from "../../checkpoint/messages/MessageHistory.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import { checkpointAt } from "../../checkpoint/moment/beginLine.ts";
import { nextVisitOf } from "../../checkpoint/state/AgentState.ts";
import { addToGroup } from "../../internal/addToGroup.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";
import { assertCheckpointFits } from "../saving/checkpointRecord.ts";
import { structureRecord, structureReference } from "../saving/strategyRecord.ts";
import type { LineMigration } from "./planMigration.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";

type MigrationJournal = Pick<
  Journal,
  "agentId" | "clock" | "maxCheckpointBytes" | "nextVersion" | "numbers" | "sha256" | "structures" | "usage" | "writer"
>;

/**
 * Returns the records of migrations: for each the new structure, the changes of the state, and a checkpoint. The
 * interrupted node continues unless its schemas changed.
 *
 * @throws CheckpointTooLargeError, NotSerializableError
 */
export function migrationRecords(
  migrations: readonly LineMigration[],
  journal: MigrationJournal,
): readonly AgentRecord[] {
  const made = new Map<string | undefined, NumberedMessage[]>();
  return migrations.flatMap((migration) => lineRecords(migration, journal, made));
}

/** @param made The messages that the migrations of the run and of other branches changed or added, by content. */
function lineRecords(
  migration: LineMigration,
  journal: MigrationJournal,
  made: Map<string | undefined, NumberedMessage[]>,
): readonly AgentRecord[] {
  const { line, next, renames } = migration;
  const { lane } = line.state;
  const { writer } = journal;
  const uploads = writer.uploads;
  const entries = migratedEntries(migration, journal.numbers, made);
  const records = [
    { ...structureReference(structureRecord(line.setup, lane, journal), journal), renames },
    ...historyRecords(editsBetween(migration.history, entries), lane, writer),
    ...storageRecords(changedKeys(migration), lane, writer),
    ...settingsRecords(migration),
  ];
  if (next.nodeId === "finish" && !line.state.checkpoint?.record.ended) return records;
  const subject = `the input of node ${JSON.stringify(next.nodeId)}`;
  const input = writer.input(
    next.lastInput,
    subject,
    lane,
    (message) => entries.find((entry) => entry.message === message)?.number,
  );
  assertCheckpointFits(journal, { node: next.nodeId, input: next.lastInput }, input, records, uploads);
  return [...records, checkpointAt(journal, lane, { ...checkpointFields(migration), node: next.nodeId, input })];
}

/**
 * Returns the new history. A message from before a branch has the same number in the run and in the branch, so that the
 * merge does not add this message again.
 */
function migratedEntries(
  { history: stored, next, before }: LineMigration,
  numbers: MigrationJournal["numbers"],
  made: Map<string | undefined, NumberedMessage[]>,
): readonly NumberedMessage[] {
  const { next: first } = numbers;
  const history = new MessageHistory(stored, numbers);
  history.rewrite(() => next.messageHistory);
  const known = new Map([...made].map(([content, messages]) => [content, [...messages]]));
  return history.entries.map((entry, at) => {
    if (entry.number < first) return entry;
    const content = contentKey(entry.message);
    const shared = known.get(content)?.shift();
    if (shared) return shared;
    const old = stored[at];
    // The function of the migration has changed this message in the run, but not in a finished branch.
    if (old && before?.has(old.number)) return old;
    addToGroup(made, content, entry);
    return entry;
  });
}

function checkpointFields({ line: { state }, keepsVisit, standing }: LineMigration) {
  const { inputType, unresolved, iteration = 0, progress, summary, joined, ended } = state.checkpoint?.record ?? {};
  const left = standing.length > 0 ? standing : undefined;
  const kept = keepsVisit ? { unresolved, joined, visit: nextVisitOf(state) } : {};
  return { inputType, ...kept, ended, iteration, progress, summary, move: "migration" as const, standing: left };
}

function changedKeys({ storage, next }: LineMigration): ReadonlyMap<string, { readonly value: unknown } | undefined> {
  const gone = Object.keys(storage).filter((key) => !Object.hasOwn(next.storage, key));
  const set = Object.entries(next.storage).filter(
    ([key, value]) => !Object.hasOwn(storage, key) || (value !== storage[key] && !isSameValue(value, storage[key])),
  );
  return new Map([
    ...gone.map((key) => [key, undefined] as const),
    ...set.map(([key, value]) => [key, { value }] as const),
  ]);
}

function settingsRecords({ line: { state }, next }: LineMigration): readonly AgentRecord[] {
  const { settings, lane } = state;
  if (!settings || isSameValue(settings.tools, next.tools)) return [];
  return [withoutUndefined({ ...settings, lane, tools: next.tools })];
}

/**
 * Creates the records of migrations and discards them, to find errors before any record is stored.
 *
 * @throws CheckpointTooLargeError, NotSerializableError
 */
export function draftMigration(
  migrations: readonly LineMigration[],
  { storage, clock, maxCheckpointBytes }: PersistenceSetup,
  { log: { agentId, index }, sha256 }: { readonly log: AgentLog; readonly sha256: Sha256 },
): void {
  const { inlineThresholdBytes } = storage;
  const contents = index.contents.keys();
  const draft = {
    agentId,
    clock,
    maxCheckpointBytes,
    sha256,
    writer: new ValueWriter({ sha256, inlineThresholdBytes, blobs: index.valueBlobs.values(), contents }),
    numbers: { next: index.nextNumber },
    nextVersion: index.nextVersion,
    structures: new Set(index.structures),
    usage: undefined,
  };
  migrationRecords(migrations, draft);
}
