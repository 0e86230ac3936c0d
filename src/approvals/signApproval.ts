import { z } from "zod";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { functionSchema, nonEmptyString } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import type { Sign } from "../seals/log/SealKeys.ts";
import type { CheckedApproval } from "./ApprovalVerifier.ts";
import { approvalBytes, encodeApprovalSignature } from "./approvalSignature.ts";

/** The request of {@link signApproval}, such as an item of `listRequests()`. */
export type ApprovalToSign = Pick<CheckedApproval, "agentId" | "requestId" | "askedAt" | "digest">;

/** Options of {@link signApproval}. */
export interface SignApprovalOptions {
  /** The person who approves. Pass the same value to `answer`. */
  readonly by: string;
  /** Signs with the key of this person. */
  readonly sign: Sign;
  /** Stored with the approval. Defaults to no reason. */
  readonly reason?: string | undefined;
  /** When the person approved. Defaults to now. */
  readonly at?: Date | undefined;
}

/** The answer that {@link signApproval} returns. */
export interface SignedApproval {
  readonly approved: true;
  readonly reason?: string;
  readonly signature: string;
}

const optionsSchema = strictOptions(() => ({
  by: nonEmptyString,
  sign: functionSchema<Sign>(),
  reason: z.string().optional(),
  at: z.date().optional(),
}));

/**
 * Returns a signed answer to a request for approval. The signature is valid only for this request, call and person.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 *
 * @example
 * ```ts
 * const answer = await signApproval(request, { by: "ann@example.com", sign });
 * await persistence(desk).answer(request.requestId, answer, { by: "ann@example.com", digest: request.digest });
 * ```
 */
export async function signApproval(request: ApprovalToSign, options: SignApprovalOptions): Promise<SignedApproval> {
  checkSchema(optionsSchema, options, "options of signApproval()");
  const { by, sign, reason, at = new Date() } = options;
  const person = { by, at: at.toISOString() };
  const signature = await sign(approvalBytes({ ...request, reason }, person));
  return {
    approved: true,
    ...(reason !== undefined && { reason }),
    signature: encodeApprovalSignature({ ...person, signature }),
  };
}
