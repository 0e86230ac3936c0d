import type { ReadableThread } from "../read/ThreadReader.ts";
import type { GraphRecord, ItemsRecord } from "../thread/GraphRecord.ts";
import { restated } from "../thread/restated.ts";
import type { Json } from "../values/Json.ts";
import type { OwnedThread } from "./StoredThreads.ts";

/** A record of another thread, with its values out of the blobs of that thread. */
type CopiedRecord =
  | Exclude<GraphRecord, ItemsRecord>
  | (Omit<ItemsRecord, "items"> & { readonly items: readonly Json[] });

/** The records that make another thread the same. */
export async function copiedRecords(thread: ReadableThread): Promise<readonly CopiedRecord[]> {
  const copied: CopiedRecord[] = [];
  for (const record of restated(thread.state)) {
    if (record.kind === "items")
      copied.push({ ...record, items: (await thread.read(record.items)) as readonly Json[] });
    else copied.push(record);
  }
  return copied;
}

/** Appends them to a thread without records, as one append. */
export function appendCopied(thread: OwnedThread, records: readonly CopiedRecord[]): void {
  for (const record of records) {
    if (record.kind !== "items") thread.append([record]);
    else thread.append([{ ...record, items: record.items.map((json) => thread.value(json, "a value of a graph")) }]);
  }
}
