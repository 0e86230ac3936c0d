import type { LogAppend, OwnedLog } from "../../storage/RecordLog.ts";
import { exampleRecord } from "./exampleRecord.ts";

/** Appends one record at the end, under an id of the form that the library generates. */
export function appendText(owned: OwnedLog, text: string, more: Partial<LogAppend> = {}): Promise<number> {
  const append = { id: `${owned.generation}-${owned.position + 1}`, records: [exampleRecord(text)], ...more };
  return owned.append(append, owned.position);
}
