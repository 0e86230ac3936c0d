import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { checkpointFields, requiredFields } from "../../checkpoint/data/checkpointSchema.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import {
  CorruptBlobError,
  CorruptLogError,
  UnreadableValueError,
  UnsupportedFormatError,
  UnsupportedRecordError,
} from "../../errors/storedDataErrors.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { CheckpointValidation, ValidationCheck } from "../../environment/CheckpointValidation.ts";

const good: ValidationCheck = { ok: true };

export interface Found {
  readonly structural: CheckpointValidation["structural"];
  readonly integrity: Omit<CheckpointValidation["integrity"], "logComplete">;
}

/** Decodes the values of a checkpoint one by one. The storage has already verified the checksums. */
export function judgeData(data: AgentCheckpointData): Found {
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

/** Merges the results of the checks of a checkpoint and of its open lines. For each check, the first failure counts. */
export function judgeWithLines(data: AgentCheckpointData, lines: readonly AgentCheckpointData[]): Found {
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

export function isAboutBlob(error: unknown): boolean {
  return error instanceof CorruptBlobError || (error instanceof UnreadableValueError && error.blob !== undefined);
}

export function checkOf(problems: readonly string[]): ValidationCheck {
  return problems.length === 0 ? good : failed([...new Set(problems)].join(" "));
}

export function failed(reason: string): ValidationCheck {
  return { ok: false, reason };
}

/** Returns whether the stored data caused an error. Data of a wrong form can cause errors of other classes. */
export function isDataError(error: unknown): boolean {
  const kinds = [
    CorruptLogError,
    CorruptBlobError,
    UnreadableValueError,
    UnsupportedFormatError,
    UnsupportedRecordError,
  ];
  return !AgentPersistenceError.isInstance(error) || kinds.some((kind) => error instanceof kind);
}
