import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { checkpointFields, requiredFields } from "../../checkpoint/data/checkpointSchema.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { CorruptBlobError } from "../../errors/storage/CorruptBlobError.ts";
import { CorruptLogError } from "../../errors/storage/CorruptLogError.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { UnsupportedFormatError } from "../../errors/storage/UnsupportedFormatError.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { Environment } from "../../environment/Environment.ts";
import { describeMismatch, type EnvironmentMismatch } from "../../environment/EnvironmentMismatch.ts";
import { compareEnvironment, readEnvironment } from "../../environment/compareEnvironment.ts";
import type { CheckpointValidation, ValidationCheck } from "../../environment/CheckpointValidation.ts";

type Stored = Pick<CheckpointValidation, "structural" | "integrity">;
type Around = Pick<CheckpointValidation, "environmental" | "mismatches">;

const good: ValidationCheck = { ok: true };

/** {@link DurableAgent.validateCheckpoint} */
export async function validateCheckpoint(
  setup: PersistenceSetup,
  agentId: string,
  checkpointId: string | undefined,
): Promise<CheckpointValidation> {
  const { data, damage } = await readStored(setup, agentId, checkpointId);
  if (damage !== undefined) return validation(agentId, checkpointId, judgeDamage(damage), unknownEnvironment);
  if (data === undefined) return validation(agentId, checkpointId, nothingThere(checkpointId), unknownEnvironment);
  const stored = judgeData(data);
  const around = allPass(stored) ? await lookAround(data, setup.environment) : unknownEnvironment;
  return validation(agentId, data.checkpointId, stored, around);
}

function validation(
  agentId: string,
  checkpointId: string | undefined,
  stored: Stored,
  around: Around,
): CheckpointValidation {
  const valid = allPass(stored) && around.mismatches.length === 0;
  return { agentId, ...(checkpointId !== undefined && { checkpointId }), valid, ...stored, ...around };
}

function allPass({ structural, integrity }: Stored): boolean {
  return [...Object.values(structural), ...Object.values(integrity)].every(({ ok }: ValidationCheck) => ok);
}

const unknownEnvironment = notLookedAt("the checkpoint does not say what it needs");

function notLookedAt(notChecked: string): Around {
  const check: ValidationCheck = { ok: true, notChecked };
  return {
    environmental: { workingDirectoryExists: check, filesUnchanged: check, dependenciesAvailable: check },
    mismatches: [],
  };
}

async function lookAround(
  { recoveryInfo }: AgentCheckpointData,
  environment: Environment | undefined,
): Promise<Around> {
  if (environment === undefined) return notLookedAt("no environment is configured");
  const mismatches = compareEnvironment(recoveryInfo, await readEnvironment(recoveryInfo, environment));
  const about = (...kinds: readonly EnvironmentMismatch["kind"][]) =>
    checkOf(mismatches.filter(({ kind }) => kinds.includes(kind)).map(describeMismatch));
  const directory = about("working_directory_missing");
  return {
    environmental: {
      workingDirectoryExists:
        recoveryInfo.workingDirectory === undefined ? { ok: true, notChecked: "none was recorded" } : directory,
      filesUnchanged: about("file_modified_externally", "file_deleted"),
      dependenciesAvailable: about("environment_not_satisfied"),
    },
    mismatches,
  };
}

/** Only the check that found the damage fails; the others are not made. */
function judgeDamage(damage: unknown): Stored {
  const unread: ValidationCheck = { ok: true, notChecked: "what is stored cannot be read" };
  const found = failed(reasonOf(damage));
  const byLog = damage instanceof CorruptLogError;
  const byBlob = isAboutBlob(damage);
  return {
    structural: { hasRequiredFields: unread, schemaValid: byLog || byBlob ? unread : found },
    integrity: { checksumMatch: byLog ? found : unread, blobsAccessible: byBlob ? found : unread },
  };
}

function nothingThere(checkpointId: string | undefined): Stored {
  const unread: ValidationCheck = { ok: true, notChecked: "there is nothing to look at" };
  const reason = checkpointId === undefined ? "there is no checkpoint" : `there is no checkpoint "${checkpointId}"`;
  return {
    structural: { hasRequiredFields: failed(reason), schemaValid: unread },
    integrity: { checksumMatch: unread, blobsAccessible: unread },
  };
}

/** The storage has compared checksums; values are decoded here, one by one. */
function judgeData(data: AgentCheckpointData): Stored {
  const values = new Map<string, unknown>();
  const problems: unknown[] = [];
  for (const field of Object.keys(data)) {
    try {
      values.set(field, data[field as keyof AgentCheckpointData]);
    } catch (error) {
      if (!isDamage(error)) throw error;
      problems.push(error);
      values.set(field, undefined);
    }
  }
  const missing = requiredFields.filter((field) => !values.has(field));
  const wrong = [...values].flatMap(([field, value]) => (problems.length > 0 ? [] : shapeProblem(field, value)));
  const blobs = problems.filter(isAboutBlob).map(reasonOf);
  const unreadable = problems.filter((problem) => !isAboutBlob(problem)).map(reasonOf);
  return {
    structural: {
      hasRequiredFields: checkOf(missing.map((field) => `it has no field "${field}"`)),
      schemaValid: checkOf([...unreadable, ...wrong]),
    },
    integrity: {
      checksumMatch: data.checksum === "" ? { ok: true, notChecked: "this storage keeps no checksums" } : good,
      blobsAccessible: checkOf(blobs),
    },
  };
}

function shapeProblem(field: string, value: unknown): readonly string[] {
  const outcome = checkpointFields[field]?.safeParse(value);
  return outcome?.success === false ? [`the field "${field}" is not as it must be: ${outcome.error.message}`] : [];
}

function isAboutBlob(error: unknown): boolean {
  return error instanceof CorruptBlobError || (error instanceof UnreadableValueError && error.blob !== undefined);
}

function checkOf(problems: readonly string[]): ValidationCheck {
  return problems.length === 0 ? good : failed([...new Set(problems)].join(" "));
}

function failed(reason: string): ValidationCheck {
  return { ok: false, reason };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A checkpoint, or the damage that prevents reading it; neither: there is none. */
interface StoredCheckpoint {
  readonly data?: AgentCheckpointData | undefined;
  readonly damage?: unknown;
}

/** Damage is returned; an error of the storage itself is thrown. */
async function readStored(
  setup: PersistenceSetup,
  agentId: string,
  checkpointId: string | undefined,
): Promise<StoredCheckpoint> {
  try {
    if (checkpointId === undefined) return { data: await setup.storage.getLatestCheckpoint(agentId) };
    const all = await setup.storage.getCheckpoints(agentId);
    return { data: all.find((data) => data.checkpointId === checkpointId) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    const data = checkpointId === undefined ? undefined : await readBefore(error, setup, agentId, checkpointId);
    return data ? { data } : { damage: error };
  }
}

/** Whether an error is about the stored data, not the storage. Errors of other classes come from wrong shapes. */
function isDamage(error: unknown): boolean {
  const kinds = [CorruptLogError, CorruptBlobError, UnreadableValueError, UnsupportedFormatError];
  return !AgentPersistenceError.isInstance(error) || kinds.some((kind) => error instanceof kind);
}

/** A checkpoint before the damage is still valid. */
async function readBefore(
  damage: unknown,
  { log }: PersistenceSetup,
  agentId: string,
  checkpointId: string,
): Promise<AgentCheckpointData | undefined> {
  const upTo = damage instanceof CorruptLogError ? damage.lastPosition : undefined;
  if (upTo === undefined) return undefined;
  try {
    const read = await AgentLog.read(log, agentId, { upTo });
    const point = read.index.byId(checkpointId);
    return point && read.data(point);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return undefined;
  }
}
