import { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { migrationRecords } from "./migrationRecords.ts";
import type { LineMigration } from "./planMigration.ts";

/**
 * Builds the records of migrations and drops them, to find storage errors before any record is stored.
 *
 * @param at.log the log at the time of the append.
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
  for (const migration of migrations) migrationRecords(migration, draft);
}
