import type { NoteRecord } from "../../checkpoint/records/NoteRecord.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";
import type { NewNote } from "../RunPersistence.ts";

/** The record of a note, with the contents that the log does not have yet. @throws NotSerializableError */
export function noteRecord(
  { key, value, contents }: NewNote,
  { lane, call, writer }: { readonly lane: number; readonly call: string | undefined; readonly writer: ValueWriter },
): NoteRecord {
  const slot = writer.value(value, `the note of "${key}"`);
  const packs = contents && writer.packs(contents);
  return {
    kind: "note",
    lane,
    key,
    ...(call !== undefined && { call }),
    value: slot,
    ...(packs?.length && { packs }),
  };
}
