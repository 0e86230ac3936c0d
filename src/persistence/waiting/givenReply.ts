import { fromJSONSchema, type z } from "zod";
import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import { checkpointParts, surelyFits } from "../../checkpoint/data/checkpointParts.ts";
import type { ReplyRecord } from "../../checkpoint/records/requestRecords.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { CheckpointTooLargeError } from "../../errors/checkpointErrors.ts";
import { ApprovalChangedError, TimerNotAnswerableError } from "../../errors/requestErrors.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { type ReplyEnd, answerSubject } from "./askedRecords.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";

export type GivenReply =
  | {
      readonly answer: unknown;
      readonly by?: string | undefined;
      /** The digest of the approved call. If omitted, the call is not compared. */
      readonly digest?: string | undefined;
    }
  | { readonly rejected: string; readonly by?: string | undefined };

/** Encodes a reply. Append the result in the same turn of the event loop. @throws NotSerializableError */
export type EncodeReply = () => ReplyEnd;

/** Validates a reply and returns its encoder. @throws ApprovalChangedError, InvalidInputError */
export async function endOf(
  setup: PersistenceSetup,
  { agentId, writer }: Journal,
  request: PendingRequest,
  given: GivenReply,
): Promise<EncodeReply> {
  const { requestId } = request;
  if (request.kind === "timer") throw new TimerNotAnswerableError(agentId, requestId, request.dueAt);
  if (request.kind === "event" && "answer" in given)
    throw new InvalidInputError(answerSubject(requestId), [
      { path: "", expected: `no answer: the agent waits for event "${request.eventName}", which send() stores` },
    ]);
  if ("rejected" in given) return () => withoutUndefined({ rejected: given.rejected, by: given.by });
  const waiting = request.kind === "approval" ? request.digest : undefined;
  if (given.digest !== undefined && given.digest !== waiting)
    throw new ApprovalChangedError(agentId, requestId, waiting);
  const answer = frozenCopy(given.answer);
  if (typeof answer === "boolean" && waiting !== undefined)
    throw new InvalidInputError(answerSubject(requestId), [{ path: "", expected: `expected { approved: ${answer} }` }]);
  await checkSchemaAsync(schemaOf(setup, agentId, request), answer, answerSubject(requestId));
  if (setup.approvals)
    await (await import("./approvalChecks.ts")).assertCounts(setup.approvals, agentId, request, { ...given, answer });
  const isRefused = waiting !== undefined && (answer as { readonly approved: boolean }).approved === false;
  return () =>
    withoutUndefined({
      answer: writer.value(answer, `the ${answerSubject(requestId)}`),
      refused: isRefused || undefined,
      by: given.by,
    });
}

/**
 * Applies the size limit of checkpoints to answers. Before the blobs of the answers, there were `uploads` blobs.
 *
 * @throws CheckpointTooLargeError
 */
export function assertAnswersFit(
  { agentId, maxCheckpointBytes, writer }: Journal,
  nodeId: string,
  replies: readonly ReplyRecord[],
  uploads: number,
): void {
  if (surelyFits(replies, writer.uploads > 0, maxCheckpointBytes)) return;
  const parts = checkpointParts(replies.map((record) => ({ name: `the ${answerSubject(record.request)}`, record })));
  if (parts.reduce((sum, { bytes }) => sum + bytes, 0) <= maxCheckpointBytes) return;
  writer.withdrawUploads(uploads);
  throw new CheckpointTooLargeError(agentId, nodeId, parts, maxCheckpointBytes, "answers");
}

/** Returns the schema of the node if this process made the request, otherwise the stored schema. */
function schemaOf(setup: PersistenceSetup, agentId: string, { requestId, schema }: PendingRequest): z.core.$ZodType {
  return setup.askedSchemas.of(agentId, requestId) ?? fromJSONSchema(schema as Parameters<typeof fromJSONSchema>[0]);
}

const endsByLog = new WeakMap<RecordLog, Map<string, Promise<unknown>>>();

/** Answers requests of an agent one after another, so that they do not compete for the log. */
export async function inAnswerTurn<Result>(
  log: RecordLog,
  agentId: string,
  answer: () => Promise<Result>,
): Promise<Result> {
  const ends = endsByLog.get(log) ?? new Map<string, Promise<unknown>>();
  endsByLog.set(log, ends);
  const turn = (ends.get(agentId) ?? Promise.resolve()).then(answer);
  const end = turn.catch(() => undefined);
  ends.set(agentId, end);
  try {
    return await turn;
  } finally {
    if (ends.get(agentId) === end) ends.delete(agentId);
  }
}
