import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { EntryView } from "../view/EntryView.ts";

export function entryView({ position, generation, id, checksum, prev, records }: Entry): EntryView {
  return { position, generation, id, checksum, prev, records: records as EntryView["records"] };
}
