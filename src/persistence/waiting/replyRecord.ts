import type { ReplyRecord } from "../../checkpoint/records/requestRecords.ts";
import type { Journal } from "../../journal/Journal.ts";

export type ReplyEnd = Pick<ReplyRecord, "answer" | "expired" | "rejected" | "by">;

export function replyRecord({ clock }: Journal, lane: number, request: string, end: ReplyEnd): ReplyRecord {
  return { kind: "reply", lane, request, at: clock.now(), ...end };
}
