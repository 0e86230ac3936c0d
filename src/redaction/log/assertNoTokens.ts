import { InvalidInputError } from "../../errors/agentErrors.ts";
import type { LogAppend } from "../../storage/RecordLog.ts";
import { HiddenValue } from "./HiddenValue.ts";
import { isToken } from "./redactedToken.ts";

/**
 * Refuses ids and names that look like redacted values. They are stored as they are, and a reader of the log would
 * decrypt them.
 *
 * @throws InvalidInputError
 */
export function assertNoTokens({ records, summary }: Pick<LogAppend, "records" | "summary">): void {
  for (const record of records) assertNone(record, `${record.kind} to record`);
  if (summary) assertNone(summary, "summary to record");
}

function assertNone(value: object, subject: string): void {
  const path = pathOfToken(value);
  if (path === undefined) return;
  const expected = "found a text in the form of a redacted value. Choose another text";
  throw new InvalidInputError(subject, [{ path: path.join("."), expected }]);
}

function pathOfToken(value: unknown): readonly string[] | undefined {
  if (typeof value === "string") return isToken(value) ? [] : undefined;
  if (typeof value !== "object" || value === null || value instanceof HiddenValue) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const path = pathOfToken(item);
    if (path) return [key, ...path];
  }
  return undefined;
}
