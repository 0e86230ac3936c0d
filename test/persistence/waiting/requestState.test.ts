import { expect, it } from "vitest";
import { LineRequests } from "../../../src/checkpoint/lines/LineRequests.ts";
import { emptyState } from "../../../src/checkpoint/state/AgentState.ts";
import type { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import type { ReplyRecord, RequestRecord } from "../../../src/checkpoint/records/requestRecords.ts";
import type { StoredState } from "../../../src/persistence/starting/startRecorder.ts";
import { requestState } from "../../../src/persistence/waiting/answerRequests.ts";

const record = (expiresAt?: number): RequestRecord => ({
  kind: "request",
  lane: 1,
  visit: [1, 0],
  request: "r",
  node: "ask",
  prompt: "?",
  schema: {},
  waitingFor: "user_input",
  ...(expiresAt !== undefined && { expiresAt }),
});
const reply = (end: Pick<ReplyRecord, "answer" | "expired">): ReplyRecord => ({
  kind: "reply",
  lane: 1,
  request: "r",
  at: 0,
  ...end,
});

it.each([
  ["never asked", undefined, undefined, true, { kind: "unknown" }],
  ["asked, and awaited", record(), undefined, true, { kind: "open" }],
  ["asked, and no longer awaited", record(), undefined, false, { kind: "unknown" }],
  ["answered", record(), reply({ answer: 1 }), true, { kind: "answered" }],
  ["answered, and resumed since", record(), reply({ answer: 1 }), false, { kind: "answered" }],
  ["a millisecond before it expires", record(1_001), undefined, true, { kind: "open" }],
  ["when it expires", record(1_000), undefined, true, { kind: "expired", expiredAt: "1970-01-01T00:00:01.000Z" }],
  ["answered in time", record(1_000), reply({ answer: 1 }), true, { kind: "answered" }],
  [
    "expired, whatever the clock says now",
    record(9_000),
    reply({ expired: true }),
    false,
    { kind: "expired", expiredAt: "1970-01-01T00:00:09.000Z" },
  ],
])("a request that is %s", (_name, asked, replied, waits, expected) => {
  const request = asked && { record: asked, lane: 1, ...(replied && { reply: replied }) };
  const current = waits ? { status: "waiting", record: { requests: ["r"] } } : { status: "in_progress" };
  const index = { statusState: { current }, requests: new LineRequests() } as unknown as LogProjection;
  // The visit that asked is over.
  const stored = { log: { index }, state: { ...emptyState, lane: 1 } } as unknown as StoredState;
  expect(requestState(stored, request, 1_000)).toEqual(expected);
});
