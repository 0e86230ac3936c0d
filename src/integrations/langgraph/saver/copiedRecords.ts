import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import type { ReadableThread } from "./ThreadReader.ts";
import { type GraphRecord, isMadeAgain, valuesOfRecord, withRecordValues } from "../thread/GraphRecord.ts";
import { restated } from "../thread/restated.ts";
import type { OwnedThread } from "./StoredThreads.ts";

/** A record of another thread with its values loaded from blobs. */
interface CopiedRecord {
  readonly record: GraphRecord;
  readonly values: readonly unknown[];
}

export async function copiedRecords(thread: ReadableThread): Promise<readonly CopiedRecord[]> {
  const copied: CopiedRecord[] = [];
  for (const record of restated(thread.state))
    if (!isOpenCall(record)) copied.push({ record, values: await thread.read(valuesOfRecord(record)) });
  return copied;
}

/** An unfinished call belongs to the original thread. The copy makes the call again. */
function isOpenCall(record: GraphRecord): boolean {
  return record.kind === "call" && (!record.end || isMadeAgain(record.end));
}

export function appendCopied(thread: OwnedThread, records: readonly CopiedRecord[]): void {
  for (const { record, values } of records) {
    const stored = values.map((value): StoredValue => thread.value(value, "a value of a graph"));
    thread.append([withRecordValues(record, stored)]);
  }
}
