import { isRefusal, type RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import { RequestNotOpenError } from "../../errors/requestErrors.ts";
import type { RunRecords } from "./RunRecords.ts";

/** @throws RequestNotOpenError unless the records contain the same decision */
export function assertDecided(
  { request, approval, expiresAt }: RequestRecord,
  approved: boolean,
  records: RunRecords,
  open: readonly string[],
): void {
  const { agentId } = records;
  const reply = approval && records.request(approval.call)?.reply;
  if (!reply) throw new RequestNotOpenError("request_not_found", agentId, request, undefined, open);
  if (approved !== isRefusal(reply)) return;
  if (!reply.expired) throw new RequestNotOpenError("request_answered", agentId, request);
  throw new RequestNotOpenError("request_expired", agentId, request, new Date(expiresAt ?? reply.at).toISOString());
}
