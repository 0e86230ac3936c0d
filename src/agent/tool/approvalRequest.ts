import { z } from "zod";
import { ToolRejectedError } from "../../errors/toolCallErrors.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { InputRequest } from "../context/InputRequest.ts";
import type { AnyTool, ApprovalVerdict } from "./Tool.ts";

export const unexplainedRejection = "it was not approved";

export const approvalSchema = z.lazy(() =>
  z.strictObject({ approved: z.boolean(), reason: z.string().optional(), signature: z.string().optional() }),
);

/** Returns the request for approval of a tool call. @param verdict The result of `needsApproval`. */
export function approvalRequest(toolName: string, verdict: Exclude<ApprovalVerdict, false> = true): InputRequest {
  const { prompt = `Approve the call of tool "${toolName}"?`, expiresAt } = verdict === true ? {} : verdict;
  return { prompt, schema: approvalSchema, waitingFor: "human_approval", ...(expiresAt && { expiresAt }) };
}

/**
 * Checks the answer to a request for approval.
 *
 * @param by The answering person. `undefined` if unknown.
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
