import { z } from "zod";
import { ToolRejectedError } from "../../errors/toolCall/ToolRejectedError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { InputRequest } from "../context/InputRequest.ts";
import type { AnyTool, ApprovalVerdict } from "./Tool.ts";

/** The reason of a rejection for which the person gave none. */
export const unexplainedRejection = "it was not approved";

/** The answer to a request for approval. */
export const approvalSchema = z.strictObject({ approved: z.boolean(), reason: z.string().optional() });

/** The request for approval of a tool call. @param verdict what the tool says of it. */
export function approvalRequest(toolName: string, verdict: Exclude<ApprovalVerdict, false> = true): InputRequest {
  const { prompt = `Approve the call of tool "${toolName}"?`, expiresAt } = verdict === true ? {} : verdict;
  return { prompt, schema: approvalSchema, waitingFor: "human_approval", ...(expiresAt && { expiresAt }) };
}

/**
 * @param answer to the request for approval of a call.
 * @param by who answered; absent: nobody said.
 * @throws ToolRejectedError, InvalidInputError
 */
export function assertApproved(
  answer: unknown,
  { tool, toolCallId }: { readonly tool: AnyTool; readonly toolCallId: string },
  by?: string,
): void {
  checkSchema(approvalSchema, answer, `answer to the request for approval of tool "${tool.name}"`);
  const { approved, reason = unexplainedRejection } = answer as z.output<typeof approvalSchema>;
  if (!approved) throw new ToolRejectedError(tool.name, toolCallId, reason, by);
}
