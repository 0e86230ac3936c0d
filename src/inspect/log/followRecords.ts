import { type Clock, pause } from "../../internal/Clock.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { EntryView } from "../view/EntryView.ts";

interface Following {
  readonly clock: Clock;
  readonly after: number;
  readonly everyMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Yields the appends after a position, and then new appends until the signal aborts. */
export async function* followRecords(
  log: RecordLog,
  agentId: string,
  { clock, after, everyMs, signal }: Following,
): AsyncGenerator<Entry> {
  let position = after;
  while (!signal?.aborted) {
    for await (const entry of log.read(agentId, { after: position })) {
      if (signal?.aborted) return;
      position = entry.position;
      yield entry;
    }
    await pause(clock, everyMs, signal);
  }
}

export function entryView({ position, generation, id, checksum, prev, records }: Entry): EntryView {
  return { position, generation, id, checksum, prev, records: records as EntryView["records"] };
}
