import { z } from "zod";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import type { NoteRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";

export interface NewNote {
  /** The key of the participant or feature that owns the note. */
  readonly key: string;
  readonly value: unknown;
  /** Contents by their SHA-256 in hex, to which `value` can refer. Equal contents are stored once. Defaults to none. */
  readonly contents?: ReadonlyMap<string, Uint8Array> | undefined;
}

export const newNoteSchema: z.ZodType = strictOptions(() => ({
  key: nonEmptyString,
  value: z.unknown().optional(),
  contents: z.instanceof(Map).optional(),
}));

/** Returns the record of a note. Only new contents are stored. @throws NotSerializableError */
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
