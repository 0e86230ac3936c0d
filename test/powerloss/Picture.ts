import type { FileRecordLog } from "agent-persistence/file";
import { collect } from "../storage/file/support/fixture.ts";

export const agentId = "agent";

/** A record as the tests append it. */
export interface TestRecord {
  readonly kind: string;
  readonly text?: string;
  /** A reference to a blob, whose content is `text`. */
  readonly blob?: string;
}

/** What can be seen of a log. */
export interface Picture {
  /** Position and records of each entry, as JSON. */
  readonly entries: readonly string[];
  /** `undefined` when the agent is not listed. */
  readonly status: string | undefined;
}

/** A picture as it should be, and where the log ends. */
export interface ExpectedPicture extends Picture {
  readonly end: number;
}

export const nothing: ExpectedPicture = { entries: [], status: undefined, end: 0 };

export const entryText = (position: number, records: readonly unknown[]) => JSON.stringify([position, records]);

export const samePicture = (a: Picture, b: Picture) =>
  a.status === b.status &&
  a.entries.length === b.entries.length &&
  a.entries.every((entry, index) => entry === b.entries[index]);

export const visible = ({ entries, status }: Picture) => JSON.stringify([entries, status ?? null]);

/** What a reader sees. A blob that is missing or another one is seen too. */
export async function pictureOf(log: FileRecordLog): Promise<Picture> {
  const entries = await collect(log.read(agentId));
  const texts: string[] = [];
  for (const { position, records } of entries) {
    const seen = await Promise.all(records.map((record) => withBlob(log, record as unknown as TestRecord)));
    texts.push(entryText(position, seen));
  }
  const [summary] = await collect(log.list());
  return { entries: texts, status: summary?.status };
}

async function withBlob(log: FileRecordLog, record: TestRecord): Promise<TestRecord> {
  if (record.blob === undefined) return record;
  const bytes = await log.blobs.get(agentId, record.blob);
  const text = bytes && new TextDecoder().decode(bytes);
  return text === record.text
    ? record
    : { ...record, blob: `${record.blob} is ${text === undefined ? "missing" : "another"}` };
}
