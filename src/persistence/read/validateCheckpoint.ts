import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { checkpointFields, requiredFields } from "../../checkpoint/data/checkpointSchema.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { CorruptBlobError } from "../../errors/storage/CorruptBlobError.ts";
import { CorruptLogError } from "../../errors/storage/CorruptLogError.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { UnsupportedFormatError } from "../../errors/storage/UnsupportedFormatError.ts";
import { UnsupportedRecordError } from "../../errors/storage/UnsupportedRecordError.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { LogEnd } from "../../storage/RecordLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { CheckpointValidation, ValidationCheck } from "../../environment/CheckpointValidation.ts";
import { describeMismatch, type EnvironmentMismatch } from "../../environment/EnvironmentMismatch.ts";
import { compareEnvironment, readEnvironment, type RecoveryInfo } from "../../environment/compareEnvironment.ts";
import { type ChangedFiles, compareChangedFiles } from "./compareChangedFiles.ts";
import { logComplete } from "./logComplete.ts";

type Stored = Pick<CheckpointValidation, "structural" | "integrity" | "tornTail">;
type Around = Pick<CheckpointValidation, "environmental" | "mismatches">;

const good: ValidationCheck = { ok: true };

/** {@link DurableAgent.validateCheckpoint} */
export async function validateCheckpoint(
  setup: PersistenceSetup,
  agentId: string,
  checkpointId: string | undefined,
): Promise<CheckpointValidation> {
  const { data, damage, end } = await readStored(setup, agentId, checkpointId);
  if (damage !== undefined) return validation(agentId, checkpointId, judgeDamage(damage), unknownEnvironment);
  if (data === undefined)
    return validation(agentId, checkpointId, withEnd(nothingThere(checkpointId), end), unknownEnvironment);
  const stored = withEnd(judgeData(data), end);
  const around = allPass(stored) ? await lookAround(data, setup) : unknownEnvironment;
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

/** What is found in a checkpoint, before the end of its log is looked at. */
interface Found {
  readonly structural: CheckpointValidation["structural"];
  readonly integrity: Omit<CheckpointValidation["integrity"], "logComplete">;
}

function withEnd({ structural, integrity }: Found, end: StoredCheckpoint["end"]): Stored {
  return withoutUndefined({
    structural,
    integrity: { ...integrity, logComplete: logComplete(end) },
    tornTail: typeof end === "string" ? undefined : end?.tornTail,
  });
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

async function lookAround(data: AgentCheckpointData, setup: PersistenceSetup): Promise<Around> {
  const { recoveryInfo } = data;
  const { environment } = setup;
  const required = environment
    ? compareEnvironment(recoveryInfo, await readEnvironment(recoveryInfo, environment))
    : [];
  const changed = await changedFiles(setup, data, environment ? hashedFiles(recoveryInfo) : []);
  const mismatches = [...required, ...changed.mismatches];
  const about = (notChecked: string | undefined, ...kinds: readonly EnvironmentMismatch["kind"][]): ValidationCheck => {
    const found = checkOf(mismatches.filter(({ kind }) => kinds.includes(kind)).map(describeMismatch));
    return found.ok && notChecked !== undefined ? { ok: true, notChecked } : found;
  };
  const absent = environment ? undefined : "no environment is configured";
  const { workingDirectory, environment: names } = recoveryInfo;
  const noDirectory = workingDirectory === undefined ? "none was recorded" : undefined;
  const noName = Object.keys(names).length === 0 ? "the run requires no version or variable" : undefined;
  return {
    environmental: {
      workingDirectoryExists: about(absent ?? noDirectory, "working_directory_missing"),
      filesUnchanged: about(
        filesNotCompared(recoveryInfo, changed, absent),
        "file_modified_externally",
        "file_deleted",
      ),
      dependenciesAvailable: about(absent ?? noName, "environment_not_satisfied"),
    },
    mismatches,
  };
}

/** An older checkpoint may be intact where the log is damaged after it: then nothing is compared. */
async function changedFiles(...args: Parameters<typeof compareChangedFiles>): Promise<ChangedFiles> {
  try {
    return await compareChangedFiles(...args);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return { any: true, mismatches: [], notCompared: [reasonOf(error)] };
  }
}

/** The required files whose content a checkpoint names. */
function hashedFiles({ requiredContext, fileHashes = {} }: RecoveryInfo): readonly string[] {
  return requiredContext.filter((path) => typeof fileHashes[path] === "string");
}

/** Why files were not compared; `undefined`: all were. */
function filesNotCompared(
  { requiredContext }: RecoveryInfo,
  { any, notCompared }: ChangedFiles,
  absent: string | undefined,
): string | undefined {
  if (requiredContext.length === 0 && !any) return absent ?? "the run requires no files, and recorded no change of one";
  const reasons = [...(absent !== undefined && requiredContext.length > 0 ? [absent] : []), ...notCompared];
  return reasons.length === 0 ? undefined : reasons.join("; ");
}

/** Only the check that found the damage fails; the others are not made. */
function judgeDamage(damage: unknown): Stored {
  const unread: ValidationCheck = { ok: true, notChecked: "what is stored cannot be read" };
  const found = failed(reasonOf(damage));
  const byLog = damage instanceof CorruptLogError;
  const byBlob = isAboutBlob(damage);
  return {
    structural: { hasRequiredFields: unread, schemaValid: byLog || byBlob ? unread : found },
    integrity: {
      checksumMatch: byLog ? found : unread,
      blobsAccessible: byBlob ? found : unread,
      logComplete: unread,
    },
  };
}

function nothingThere(checkpointId: string | undefined): Found {
  const unread: ValidationCheck = { ok: true, notChecked: "there is nothing to look at" };
  const reason = checkpointId === undefined ? "there is no checkpoint" : `there is no checkpoint "${checkpointId}"`;
  return {
    structural: { hasRequiredFields: failed(reason), schemaValid: unread },
    integrity: { checksumMatch: unread, blobsAccessible: unread },
  };
}

/** The storage has compared checksums; values are decoded here, one by one. */
function judgeData(data: AgentCheckpointData): Found {
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
  /** How the log ends, or why that was not looked at; absent: the storage cannot tell. */
  readonly end?: LogEnd | string | undefined;
}

/** Damage is returned; an error of the storage itself is thrown. */
async function readStored(
  setup: PersistenceSetup,
  agentId: string,
  checkpointId: string | undefined,
): Promise<StoredCheckpoint> {
  try {
    const end = await setup.log.end?.(agentId);
    if (checkpointId === undefined) return { data: await setup.storage.getLatestCheckpoint(agentId), end };
    const all = await setup.storage.getCheckpoints(agentId);
    return { data: all.find((data) => data.checkpointId === checkpointId), end };
  } catch (error) {
    if (!isDamage(error)) throw error;
    const data = checkpointId === undefined ? undefined : await readBefore(error, setup, agentId, checkpointId);
    return data ? { data, end: "the log is damaged after this checkpoint" } : { damage: error };
  }
}

/** Whether an error is about the stored data, not the storage. Errors of other classes come from wrong shapes. */
function isDamage(error: unknown): boolean {
  const kinds = [
    CorruptLogError,
    CorruptBlobError,
    UnreadableValueError,
    UnsupportedFormatError,
    UnsupportedRecordError,
  ];
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
