import { count, optional, text, time } from "../../checkpoint/format/fieldTests.ts";
import type { ShapeDefinition } from "../shape/ShapeDefinition.ts";
import type { InboxRecord } from "./inboxRecords.ts";
import { InboxState } from "./InboxState.ts";

/** The status of an inbox with an event that may continue a waiting agent. Workers list these inboxes. */
export const newsStatus = "inbox_news";

export const inboxShape: ShapeDefinition<InboxRecord, InboxState> = {
  name: "inbox",
  version: 2,
  records: {
    event: { name: text, at: time, key: optional(text), digest: optional(text), number: optional(count) },
    take: { request: text, event: count },
    give_back: { request: text },
    take_again: { request: text },
    seen: { events: count },
    part: { events: count, receipts: count, first: count, seen: count },
  },
  values: (record) => (record.kind === "event" ? [record.payload] : []),
  begin: () => new InboxState(),
  part: (state) => state.part(),
  status: ({ hasNews }) => (hasNews ? newsStatus : "inbox"),
};
