import type { ReplyRecord, RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import type { LineRequest } from "../../checkpoint/lines/LineRequests.ts";
import type { StatusRecord } from "../../checkpoint/records/runRecords.ts";
import { isOpenRequest, openRequests, requestOf } from "../../checkpoint/state/openRequests.ts";
import { statusRecords } from "../../checkpoint/state/StatusState.ts";
import { RequestNotOpenError, TimerNotAnswerableError } from "../../errors/requestErrors.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { StoredState } from "../starting/startRecorder.ts";
import { assertAnswersFit, type EncodeReply, endOf, type GivenReply } from "./givenReply.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import { LiveRequests } from "./LiveRequests.ts";
import { pendingIn, isListDue, runningStatus, waitingStatus } from "./pendingRequests.ts";
import { replyRecord } from "./askedRecords.ts";

/**
 * Records all replies, or none if one is rejected. The run can be resumed when all requests of a branch are answered.
 * Durable when the promise resolves.
 *
 * @throws RequestNotOpenError, ApprovalChangedError, InvalidInputError, NotSerializableError, CheckpointTooLargeError
 */
export async function answerRequests(
  setup: PersistenceSetup,
  journal: Journal,
  stored: StoredState | undefined,
  given: ReadonlyMap<string, GivenReply>,
): Promise<void> {
  const asked = [...given].map(([requestId, said]) => ({ said, ...openRequest(journal, stored, requestId) }));
  if (!stored || asked.length === 0) return;
  const ends: EncodeReply[] = [];
  for (const { said, record } of asked) ends.push(await endOf(setup, journal, pendingIn(stored.log, record), said));
  await giveBackRejected(setup, journal, asked);
  const { uploads } = journal.writer;
  const replies = asked.map(({ record, lane }, at) => replyRecord(journal, lane, record.request, ends[at]?.() ?? {}));
  assertAnswersFit(journal, asked[0]?.record.node ?? "", replies, uploads);
  await append(journal, stored, replies);
}

/** Makes the events of rejected requests available again, if a process received them and crashed before the reply. */
async function giveBackRejected(
  setup: PersistenceSetup,
  { agentId }: Journal,
  asked: readonly { readonly said: GivenReply; readonly record: RequestRecord }[],
): Promise<void> {
  const rejected = asked.filter(({ said, record }) => "rejected" in said && record.event !== undefined);
  if (rejected.length === 0) return;
  const requests = rejected.map(({ record }) => record.request);
  await (await setup.inbox()).rollBack(agentId, requests, []);
}

/** Ends all expired requests. @returns false if no request has expired. */
export async function expireRequests(journal: Journal, stored: StoredState): Promise<boolean> {
  const now = journal.clock.now();
  const open = openRequests(stored.log.index, stored.state);
  const expired = open
    .filter(({ record }) => isPast(record.expiresAt, now))
    .sort((a, b) => (a.record.expiresAt ?? 0) - (b.record.expiresAt ?? 0));
  if (expired.length === 0) return false;
  const replies = expired.map(({ record, lane }) => replyRecord(journal, lane, record.request, { expired: true }));
  await append(journal, stored, replies);
  return true;
}

/** Receives events for open requests, and returns these requests. `signal` ends the wait for another owner. */
export async function receiveEvents(
  setup: PersistenceSetup,
  journal: Journal,
  stored: StoredState,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { agentId, writer } = journal;
  const replies: ReplyRecord[] = [];
  for (const { record, lane } of openRequests(stored.log.index, stored.state)) {
    const { event } = record;
    if (event === undefined) continue;
    const taken = await (await setup.inbox()).take(agentId, { ...record, event }, signal);
    const answer = taken && writer.value(taken, "the payload of an event");
    if (answer !== undefined) replies.push(replyRecord(journal, lane, record.request, { answer }));
  }
  if (replies.length > 0) await append(journal, stored, replies);
  return replies.map(({ request }) => request);
}

/** Makes the events for branches and sub-agents that a move closed available to other requests. */
export async function giveBackClosed({ setup, journal }: RunRecorder): Promise<void> {
  const closed = LiveRequests.of(journal).closedReceipts;
  if (closed.length === 0) return;
  for (const { stopReceiving } of closed) await stopReceiving?.();
  const requests = closed.map(({ pending }) => pending.requestId);
  await (await setup.inbox()).rollBack(journal.agentId, requests, []);
}

function openRequest({ agentId, clock }: Journal, stored: StoredState | undefined, requestId: string): LineRequest {
  const request = stored && requestOf(stored.log.index, stored.state, requestId);
  assertTakesAnswer(agentId, request);
  const judged = stored && requestState(stored, request ?? answeredIn(stored, requestId), clock.now());
  if (request && judged?.kind === "open") return request;
  if (judged?.kind === "answered") throw new RequestNotOpenError("request_answered", agentId, requestId);
  if (judged?.kind === "expired")
    throw new RequestNotOpenError("request_expired", agentId, requestId, judged.expiredAt);
  const open = stored ? openRequests(stored.log.index, stored.state).map(({ record }) => record.request) : [];
  throw new RequestNotOpenError("request_not_found", agentId, requestId, undefined, open);
}

function assertTakesAnswer(agentId: string, known: LineRequest | undefined): void {
  if (known?.record.waitingFor !== "timer") return;
  const { request, expiresAt = 0 } = known.record;
  throw new TimerNotAnswerableError(agentId, request, new Date(expiresAt).toISOString());
}

function answeredIn({ log: { index } }: StoredState, requestId: string): LineRequest | undefined {
  const known = index.requests.get(requestId);
  return known?.reply && known;
}

async function append(journal: Journal, stored: StoredState, replies: readonly ReplyRecord[]): Promise<void> {
  journal.append([...replies, ...statusIfDue(journal, stored, replies)]);
  await journal.durable();
}

/** Returns a status record with the remaining open requests. Returns none if the current status is still correct. */
function statusIfDue(journal: Journal, stored: StoredState, replies: readonly ReplyRecord[]): readonly StatusRecord[] {
  const { status, record } = journal.statusState.current ?? {};
  if (status === "paused") return [];
  const replied = new Set(replies.map(({ request }) => request));
  const isListed = isListedEnough(stored, replied);
  if (isListed && status === "in_progress") return [];
  const left = openRequests(stored.log.index, stored.state).filter((open) => !replied.has(open.record.request));
  const asking = new Set(left.map(({ lane }) => lane));
  // A branch whose requests are all answered can continue, even if others wait.
  const isWaiting = status === "waiting" && replies.every(({ lane }) => asking.has(lane));
  if (isListed && isWaiting && record?.answered) return [];
  const pending = left.map((open) => pendingIn(stored.log, open.record));
  const next = isWaiting
    ? { ...waitingStatus(pending, journal.clock.now()), answered: true as const }
    : runningStatus(journal, pending, true);
  return statusRecords(journal.statusState, next);
}

/** Returns whether the list in the status may stay after answers. It must show the earliest expiry. */
function isListedEnough(stored: StoredState, replied: ReadonlySet<string>): boolean {
  const { requests: given, statusState } = stored.log.index;
  const { requests = [], until } = statusState.current?.record ?? {};
  const expiryOf = (id: string) => requestOf(stored.log.index, stored.state, id)?.record.expiresAt;
  if (until !== undefined && [...replied].some((id) => expiryOf(id) === until)) return false;
  return !isListDue(requests.length, requests.length - given.repliesToStatus - replied.size);
}

/** The current state of a request. Only an open request accepts an answer. */
export type RequestJudgement =
  | { readonly kind: "open" | "answered" | "unknown" }
  | { readonly kind: "expired"; readonly expiredAt: string };

export function requestState(
  { log: { index }, state }: StoredState,
  known: LineRequest | undefined,
  now: number,
): RequestJudgement {
  if (!known) return { kind: "unknown" };
  const { expiresAt } = known.record;
  if (known.reply?.expired || (!known.reply && isPast(expiresAt, now)))
    return { kind: "expired", expiredAt: new Date(expiresAt ?? now).toISOString() };
  if (known.reply) return { kind: "answered" };
  return { kind: isOpenRequest(index, state, known) ? "open" : "unknown" };
}

function isPast(expiresAt: number | undefined, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}
