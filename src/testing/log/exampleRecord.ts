import type { LogRecord } from "../../checkpoint/records/Entry.ts";

/** A record that carries a value. A storage sees plain JSON and knows no kinds but `pruned`. */
export function exampleRecord(value: unknown): LogRecord {
  const record = { kind: "example", value };
  return record;
}
