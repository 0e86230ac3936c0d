import { checkSchema } from "../internal/options/checkSchema.ts";
import { functionSchema } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import type { ApprovalVerifier, CheckedApproval } from "./ApprovalVerifier.ts";
import { approvalBytes, decodeApprovalSignature } from "./approvalSignature.ts";

/** Options of {@link signedApprovals}. */
export interface SignedApprovalsOptions {
  /**
   * Returns whether a signature belongs to the bytes, with a key of this person. `at` is the signed time of the
   * approval, in ISO 8601.
   */
  readonly verify: (
    bytes: Uint8Array,
    signature: Uint8Array,
    person: { readonly by: string; readonly at: string },
  ) => boolean | PromiseLike<boolean>;
}

const optionsSchema = strictOptions(() => ({ verify: functionSchema<SignedApprovalsOptions["verify"]>() }));

/**
 * Returns the `approvals` option of `install(Persistence, …)` that accepts only answers of `signApproval()`.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 *
 * @example
 * ```ts
 * const approvals = signedApprovals({
 *   verify: (bytes, signature, { by }) => verify(null, bytes, publicKeys.get(by) ?? noKey, signature),
 * });
 * ```
 */
export function signedApprovals(options: SignedApprovalsOptions): ApprovalVerifier {
  checkSchema(optionsSchema, options, "options of signedApprovals()");
  return { verify: (approval) => isSigned(approval, options) };
}

async function isSigned(approval: CheckedApproval, { verify }: SignedApprovalsOptions): Promise<boolean> {
  const { by, answer } = approval;
  const signed = decodeApprovalSignature(answer.signature ?? "");
  if (!signed || (by !== undefined && by !== signed.by)) return false;
  const { signature, ...person } = signed;
  return verify(approvalBytes({ ...approval, reason: answer.reason }, person), signature, person);
}
