import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { ReplyRecord } from "../../checkpoint/records/requestRecords.ts";
import type { RecordedRequest } from "../../checkpoint/state/AgentState.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { type LineRequest, openRequests, requestsOf } from "../../checkpoint/state/openRequests.ts";
import { statusRecords } from "../../checkpoint/state/statusRecords.ts";
import { checkpointParts, surelyFits } from "../../checkpoint/data/checkpointParts.ts";
import { CheckpointTooLargeError } from "../../errors/checkpoint/CheckpointTooLargeError.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { ApprovalChangedError } from "../../errors/request/ApprovalChangedError.ts";
import { RequestNotOpenError } from "../../errors/request/RequestNotOpenError.ts";
import { frozenCopy } from "../../internal/copy/frozenCopy.ts";
import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { StoredState } from "../start/startRecorder.ts";
import { answerSubject } from "./journalInputRequest.ts";
import { pendingRequests } from "./pendingRequests.ts";
import { runningStatus, waitingStatus } from "./waitingStatus.ts";
import { fromJSONSchema, type z } from "zod";

/** What somebody says to a request. */
export type GivenReply =
  | {
      readonly answer: unknown;
      readonly by?: string | undefined;
      /** The digest of the call that was approved. Absent: it is not compared. */
      readonly digest?: string | undefined;
    }
  | { readonly rejected: string; readonly by?: string | undefined };

/**
 * Gives replies to requests: all of them, or none when one is refused. The owner of the log decides who is first. With
 * the last open request of a line the run waits no more: it is in progress and can be resumed. Durable when it resolves.
 *
 * @throws RequestNotOpenError, ApprovalChangedError, InvalidInputError, NotSerializableError, CheckpointTooLargeError
 */
export async function answerRequests(
  setup: PersistenceSetup,
  journal: Journal,
  stored: StoredState | undefined,
  given: ReadonlyMap<string, GivenReply>,
): Promise<void> {
  const pending = stored ? pendingRequests(stored) : [];
  const requests = stored ? requestsOf(stored.log.index, stored.state) : new Map<string, LineRequest>();
  for (const requestId of given.keys()) assertOpen(journal, stored, { requests, requestId, pending });
  // Each was found open, so there is a state.
  if (!stored || given.size === 0) return;
  const replies: ReplyRecord[] = [];
  const { uploads } = journal.writer;
  for (const request of pending) {
    const said = given.get(request.requestId);
    const { lane = stored.state.lane } = requests.get(request.requestId) ?? {};
    if (said) replies.push(replyRecord(journal, lane, request.requestId, await endOf(setup, journal, request, said)));
  }
  assertAnswersFit(journal, pending, replies, uploads);
  await append(journal, stored, { replies, requests });
}

export type ReplyEnd = Pick<ReplyRecord, "answer" | "expired" | "rejected" | "by">;

/** What is recorded of a reply. @throws ApprovalChangedError, InvalidInputError, NotSerializableError */
export async function endOf(
  setup: PersistenceSetup,
  { agentId, writer }: Journal,
  request: PendingRequest,
  given: GivenReply,
): Promise<ReplyEnd> {
  const { requestId } = request;
  if ("rejected" in given) return withoutUndefined({ rejected: given.rejected, by: given.by });
  const waiting = request.kind === "approval" ? request.digest : undefined;
  if (given.digest !== undefined && given.digest !== waiting)
    throw new ApprovalChangedError(agentId, requestId, waiting);
  const answer = frozenCopy(given.answer);
  await checkSchemaAsync(schemaOf(setup, agentId, request), answer, answerSubject(requestId));
  return withoutUndefined({ answer: writer.value(answer, `the ${answerSubject(requestId)}`), by: given.by });
}

/**
 * What answers add is bounded as what a checkpoint adds.
 *
 * @param uploads how many blobs were on their way before those of the answers.
 * @throws CheckpointTooLargeError
 */
export function assertAnswersFit(
  { agentId, maxCheckpointBytes, writer }: Journal,
  pending: readonly PendingRequest[],
  replies: readonly ReplyRecord[],
  uploads: number,
): void {
  if (surelyFits(replies, writer.uploads > 0, maxCheckpointBytes)) return;
  const parts = checkpointParts(replies.map((record) => ({ name: `the ${answerSubject(record.request)}`, record })));
  if (parts.reduce((sum, { bytes }) => sum + bytes, 0) <= maxCheckpointBytes) return;
  writer.withdrawUploads(uploads);
  const asked = pending.find(({ requestId }) => requestId === replies[0]?.request);
  throw new CheckpointTooLargeError(agentId, asked?.nodeId ?? "", parts, maxCheckpointBytes, "answers");
}

/**
 * Ends every open request whose time has passed without an answer.
 *
 * @returns false when there was none, and nothing has changed.
 */
export async function expireRequests(journal: Journal, stored: StoredState): Promise<boolean> {
  const now = journal.clock.now();
  const requests = requestsOf(stored.log.index, stored.state);
  const expired = openRequests(stored.log.index, requests).filter(({ expiresAt }) => isPast(expiresAt, now));
  if (expired.length === 0) return false;
  const replies = expired.map(({ request }) =>
    replyRecord(journal, requests.get(request)?.lane ?? stored.state.lane, request, { expired: true }),
  );
  await append(journal, stored, { replies, requests });
  return true;
}

function assertOpen(
  { agentId, clock }: Journal,
  stored: StoredState | undefined,
  asked: {
    readonly requests: ReadonlyMap<string, LineRequest>;
    readonly requestId: string;
    readonly pending: readonly PendingRequest[];
  },
): void {
  const { requests, requestId, pending } = asked;
  const judged = stored && requestState(stored.log.index, requests, requestId, clock.now());
  if (judged?.kind === "open") return;
  if (judged?.kind === "answered") throw new RequestNotOpenError("request_answered", agentId, requestId);
  if (judged?.kind === "expired")
    throw new RequestNotOpenError("request_expired", agentId, requestId, judged.expiredAt);
  const open = pending.map((request) => request.requestId);
  throw new RequestNotOpenError("request_not_found", agentId, requestId, undefined, open);
}

/** The node's own schema where a node of this process asked, else what is stored of it. */
function schemaOf(setup: PersistenceSetup, agentId: string, { requestId, schema }: PendingRequest): z.ZodType {
  return setup.askedSchemas.of(agentId, requestId) ?? fromJSONSchema(schema as Parameters<typeof fromJSONSchema>[0]);
}

/** @param lane the lane on which the line that asked goes on. */
export function replyRecord({ clock }: Journal, lane: number, request: string, end: ReplyEnd): ReplyRecord {
  return { kind: "reply", lane, request, at: clock.now(), ...end };
}

interface Replied {
  readonly replies: readonly ReplyRecord[];
  readonly requests: ReadonlyMap<string, LineRequest>;
}

async function append(journal: Journal, stored: StoredState, { replies, requests }: Replied): Promise<void> {
  const replied = new Set(replies.map(({ request }) => request));
  const left = pendingRequests(stored).filter(({ requestId }) => !replied.has(requestId));
  const asking = new Set(left.map(({ requestId }) => requests.get(requestId)?.lane));
  // A line that has all its answers goes on without the others.
  const isWaiting = replies.every(({ lane }) => asking.has(lane));
  const status =
    isWaiting && journal.statusState.current?.status === "waiting"
      ? { ...waitingStatus(left, journal.clock.now()), answered: true as const }
      : runningStatus(journal, left, true);
  journal.append([...replies, ...statusRecords(journal.statusState, status)]);
  await journal.durable();
}

/** What an answer to a request comes to now: only one to an open request is taken. */
export type RequestJudgement =
  | { readonly kind: "open" | "answered" | "unknown" }
  | { readonly kind: "expired"; readonly expiredAt: string };

/** @param now milliseconds since 1970. */
export function requestState(
  index: LogProjection,
  requests: ReadonlyMap<string, RecordedRequest>,
  requestId: string,
  now: number,
): RequestJudgement {
  const known = requests.get(requestId);
  if (!known) return { kind: "unknown" };
  const { expiresAt } = known.record;
  if (known.reply?.expired || (!known.reply && isPast(expiresAt, now)))
    return { kind: "expired", expiredAt: new Date(expiresAt ?? now).toISOString() };
  if (known.reply) return { kind: "answered" };
  return { kind: openRequests(index, requests).includes(known.record) ? "open" : "unknown" };
}

/** Whether a request whose answer was wanted by then has ended without one. */
export function isPast(expiresAt: number | undefined, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}
