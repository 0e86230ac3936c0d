import { z } from "zod";
import type { InputRequest } from "../context/InputRequest.ts";
import type { ApprovalVerdict } from "./Tool.ts";

/** The answer to a request for approval. */
export const approvalSchema = z.strictObject({ approved: z.boolean(), reason: z.string().optional() });

/** The request for approval of a tool call. @param verdict what the tool says of it. */
export function approvalRequest(toolName: string, verdict: Exclude<ApprovalVerdict, false> = true): InputRequest {
  const { prompt = `Approve the call of tool "${toolName}"?`, expiresAt } = verdict === true ? {} : verdict;
  return { prompt, schema: approvalSchema, waitingFor: "human_approval", ...(expiresAt && { expiresAt }) };
}
