import { openRequests } from "../../checkpoint/state/openRequests.ts";
import { foldTo } from "../../checkpoint/state/foldTo.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { IndexedRequest } from "../log/AgentIndex.ts";
import type { LineView } from "../view/viewParts.ts";
import type { RequestView } from "../view/RequestView.ts";
import { isoTime } from "./checkpointView.ts";
import type { Shown } from "./Source.ts";

export function openRequestIds(log: LogProjection): ReadonlySet<string> {
  // Computing the state reads the whole history, so it is skipped without unanswered requests.
  const state = log.requests.unanswered.size === 0 ? undefined : foldTo(log);
  return new Set(state ? openRequests(log, state).map(({ record }) => record.request) : []);
}

export function requestView(
  shown: Shown,
  { record, reply, position }: IndexedRequest,
  { line, isOpen }: { readonly line: LineView; readonly isOpen: boolean },
): RequestView {
  const { approval, at } = record;
  const { show } = shown;
  return withoutUndefined({
    requestId: record.request,
    kind: kindOf(record),
    state: stateOf(record, reply, isOpen),
    node: record.node,
    line,
    lane: record.lane,
    waitingFor: record.waitingFor,
    prompt: show(record.prompt),
    schema: show(record.schema),
    call: approval && { toolCallId: approval.call, tool: approval.tool, input: show(approval.input) },
    digest: approval && (record.question ?? ""),
    askedAt: at === undefined ? undefined : isoTime(at),
    ...endOf(record),
    answeredAt: reply && isoTime(reply.at),
    answer: reply && "answer" in reply ? show(reply.answer) : undefined,
    rejection: reply?.rejected,
    by: reply?.by,
    problems: record.problems,
    position,
  });
}

function kindOf({ approval, waitingFor }: IndexedRequest["record"]): RequestView["kind"] {
  if (waitingFor === "timer" || waitingFor === "event") return waitingFor;
  return approval ? "approval" : "input";
}

function endOf({ expiresAt, waitingFor }: IndexedRequest["record"]): Pick<RequestView, "expiresAt" | "dueAt"> {
  if (expiresAt === undefined) return {};
  return waitingFor === "timer" ? { dueAt: isoTime(expiresAt) } : { expiresAt: isoTime(expiresAt) };
}

function stateOf(
  { waitingFor }: IndexedRequest["record"],
  reply: IndexedRequest["reply"],
  isOpen: boolean,
): RequestView["state"] {
  if (reply && waitingFor === "timer") return "fired";
  if (reply) {
    if (reply.expired) return "expired";
    return reply.rejected === undefined ? "answered" : "rejected";
  }
  return isOpen ? "open" : "left";
}
