import { findPoint } from "../../checkpoint/moment/linesAt.ts";
import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import {
  CorruptLogError,
  CorruptBlobError,
  UnreadableValueError,
  UnsupportedFormatError,
  UnsupportedRecordError,
} from "../../errors/storedDataErrors.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import { checkpointData } from "../../checkpoint/data/checkpointData.ts";
import type { LogEnd } from "../../storage/RecordLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { CheckpointValidation, ValidationCheck } from "../../environment/CheckpointValidation.ts";
import {
  describeMismatch,
  type EnvironmentMismatch,
  compareEnvironment,
  readEnvironment,
  type RecoveryInfo,
} from "../../environment/EnvironmentMismatch.ts";
import { type ChangedFiles, compareChangedFiles } from "./compareChangedFiles.ts";
import { checkpointFields, requiredFields } from "../../checkpoint/data/checkpointSchema.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";

type Stored = Pick<CheckpointValidation, "structural" | "integrity" | "tornTail">;
type Around = Pick<CheckpointValidation, "environmental" | "mismatches">;

export async function validateCheckpoint(
  setup: PersistenceSetup,
  agentId: string,
  checkpointId: string | undefined,
): Promise<CheckpointValidation> {
  const { data, lines, damage, end } = await readStored(setup, agentId, checkpointId);
  if (damage !== undefined) return validation(agentId, checkpointId, judgeDamage(damage), unknownEnvironment);
  if (data === undefined)
    return validation(agentId, checkpointId, withEnd(nothingThere(checkpointId), end), unknownEnvironment);
  const stored = withEnd(judgeWithLines(data, lines), end);
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

const unknownEnvironment = notLookedAt("the required environment is unknown");

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

/** Compares files. If records after an intact checkpoint are damaged, compares none. */
async function changedFiles(...args: Parameters<typeof compareChangedFiles>): Promise<ChangedFiles> {
  try {
    return await compareChangedFiles(...args);
  } catch (error) {
    if (!isDataError(error)) throw error;
    return { any: true, mismatches: [], notCompared: [reasonOf(error)] };
  }
}

function hashedFiles({ requiredContext, fileHashes = {} }: RecoveryInfo): readonly string[] {
  return requiredContext.filter((path) => typeof fileHashes[path] === "string");
}

function filesNotCompared(
  { requiredContext }: RecoveryInfo,
  { any, notCompared }: ChangedFiles,
  absent: string | undefined,
): string | undefined {
  if (requiredContext.length === 0 && !any) return absent ?? "the run requires no files, and recorded no change of one";
  const reasons = [...(absent !== undefined && requiredContext.length > 0 ? [absent] : []), ...notCompared];
  return reasons.length === 0 ? undefined : reasons.join("; ");
}

/** Converts damage to results. Only the check that found the damage fails. The others are marked as not done. */
function judgeDamage(damage: unknown): Stored {
  const unread: ValidationCheck = { ok: true, notChecked: "the stored data cannot be read" };
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
  const unread: ValidationCheck = { ok: true, notChecked: "no checkpoint was found" };
  const reason = checkpointId === undefined ? "there is no checkpoint" : `there is no checkpoint "${checkpointId}"`;
  return {
    structural: { hasRequiredFields: failed(reason), schemaValid: unread },
    integrity: { checksumMatch: unread, blobsAccessible: unread },
  };
}

/** A checkpoint, or the damage that prevents reading it. Both are `undefined` if it does not exist. */
interface StoredCheckpoint {
  readonly data?: AgentCheckpointData | undefined;
  /** The newest checkpoints of open branches and sub-agents. Empty if a later checkpoint exists. */
  readonly lines: readonly AgentCheckpointData[];
  readonly damage?: unknown;
  readonly end?: LogEnd | string | undefined;
}

async function readStored(
  setup: PersistenceSetup,
  agentId: string,
  checkpointId: string | undefined,
): Promise<StoredCheckpoint> {
  try {
    const end = await setup.log.end?.(agentId);
    const data =
      checkpointId === undefined
        ? await setup.storage.getLatestCheckpoint(agentId)
        : await readFound(setup, agentId, checkpointId);
    return { data, lines: data?.branches ? await openLinesIn(setup, data) : [], end };
  } catch (error) {
    if (!isDataError(error)) throw error;
    const data = checkpointId === undefined ? undefined : await readBefore(error, setup, agentId, checkpointId);
    return data ? { data, lines: [], end: "the log is damaged after this checkpoint" } : { lines: [], damage: error };
  }
}

/** Returns the checkpoints from which branches and sub-agents continue. Empty if a later checkpoint exists. */
async function openLinesIn(
  { log }: PersistenceSetup,
  { agentId, checkpointId }: AgentCheckpointData,
): Promise<readonly AgentCheckpointData[]> {
  const read = await AgentLog.read(log, agentId);
  const { index } = read;
  const lane = index.byId(checkpointId)?.record.lane ?? 0;
  if (index.latestOf(lane)?.id !== checkpointId) return [];
  const within = new Set([lane]);
  return index.lines.openLanes.flatMap((open) => {
    const point = index.latestOf(open);
    if (!point || !within.has(index.lines.nestedLine(open)?.place.parent ?? 0)) return [];
    within.add(open);
    return [checkpointData(read, point)];
  });
}

/** Reads a checkpoint. A damaged one with a custom id can be found under another id. */
async function readFound(
  { log }: PersistenceSetup,
  agentId: string,
  checkpointId: string,
  options: { readonly upTo?: number } = {},
): Promise<AgentCheckpointData | undefined> {
  const read = await AgentLog.read(log, agentId, options);
  const point = findPoint(read.index, checkpointId);
  return point && checkpointData(read, point);
}

async function readBefore(
  damage: unknown,
  setup: PersistenceSetup,
  agentId: string,
  checkpointId: string,
): Promise<AgentCheckpointData | undefined> {
  const upTo = damage instanceof CorruptLogError ? damage.lastPosition : undefined;
  if (upTo === undefined) return undefined;
  try {
    return await readFound(setup, agentId, checkpointId, { upTo });
  } catch (error) {
    if (!isDataError(error)) throw error;
    return undefined;
  }
}

function logComplete(end: LogEnd | string | undefined): ValidationCheck {
  if (typeof end === "string") return { ok: true, notChecked: end };
  if (end === undefined) return { ok: true, notChecked: "this storage cannot tell" };
  const { closed, tornTail } = end;
  if (closed) return { ok: true };
  if (tornTail === undefined)
    return {
      ok: true,
      notChecked: "the last owner of the log has not closed it, so that lost appends at its end leave no trace",
    };
  const { file, line, bytes } = tornTail;
  const place = `line ${line} of ${file} is the beginning of an append (${bytes} bytes)`;
  return { ok: true, notChecked: `${place}: a crash cut it before it was stored, or damage did so after` };
}

const good: ValidationCheck = { ok: true };

interface Found {
  readonly structural: CheckpointValidation["structural"];
  readonly integrity: Omit<CheckpointValidation["integrity"], "logComplete">;
}

/** Decodes the values of a checkpoint one by one. The storage has already verified the checksums. */
function judgeData(data: AgentCheckpointData): Found {
  const values = new Map<string, unknown>();
  const problems: unknown[] = [];
  for (const field of Object.keys(data)) {
    try {
      values.set(field, withBranches(data[field as keyof AgentCheckpointData], field));
    } catch (error) {
      if (!isDataError(error)) throw error;
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

/** Combines the results for a checkpoint and for its branches. For each check, the first failure counts. */
function judgeWithLines(data: AgentCheckpointData, lines: readonly AgentCheckpointData[]): Found {
  return lines.reduce((found, line) => {
    const { structural, integrity } = judgeData(line);
    return {
      structural: firstFailures(found.structural, structural, line),
      integrity: firstFailures(found.integrity, integrity, line),
    };
  }, judgeData(data));
}

function firstFailures<Checks extends Readonly<Record<string, ValidationCheck>>>(
  before: Checks,
  found: Checks,
  line: AgentCheckpointData,
): Checks {
  const where = [...line.agentPath, ...(line.branch === undefined ? [] : [line.branch])].join(" > ");
  const checks = Object.entries(before).map(([name, check]) => {
    const own = found[name];
    return [name, check.ok && own?.ok === false ? failed(`${where}: ${own.reason}`) : check] as const;
  });
  return Object.fromEntries(checks) as unknown as Checks;
}

function withBranches(value: unknown, field: string): unknown {
  return field === "branches" ? (value as readonly object[]).map((branch) => ({ ...branch })) : value;
}

function shapeProblem(field: string, value: unknown): readonly string[] {
  const outcome = checkpointFields()[field]?.safeParse(value);
  return outcome?.success === false ? [`the field "${field}" is invalid: ${outcome.error.message}`] : [];
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

/** Returns whether stored data caused an error. Data of a wrong form can cause errors of other classes. */
function isDataError(error: unknown): boolean {
  const kinds = [
    CorruptLogError,
    CorruptBlobError,
    UnreadableValueError,
    UnsupportedFormatError,
    UnsupportedRecordError,
  ];
  return !AgentPersistenceError.isInstance(error) || kinds.some((kind) => error instanceof kind);
}
