import { z } from "zod";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../internal/bytes.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { functionSchema, nonEmptyString } from "../internal/options/optionSchemas.ts";
import type { Sign } from "../seals/log/Seal.ts";

/** An answer that approves a tool call, with the request that it answers. */
export interface CheckedApproval {
  /** The id of the agent that made the request. */
  readonly agentId: string;
  readonly requestId: string;
  /** When the request was first made, in ISO 8601. */
  readonly askedAt: string;
  /** The digest of the tool name and the input. */
  readonly digest: string;
  /** The person who answered. `undefined` if the answer names no person. */
  readonly by: string | undefined;
  readonly answer: { readonly approved: true; readonly reason?: string; readonly signature?: string };
}

/** Decides which approvals are valid, such as `signedApprovals()` of `agent-persistence/seals`. */
export interface ApprovalVerifier {
  /**
   * Returns whether an approval is valid. Called when a request is answered, and again before the approved call starts,
   * because anyone who can write to the storage can write an answer.
   */
  verify(approval: CheckedApproval): boolean | PromiseLike<boolean>;
}

export interface SignedApprovalsOptions {
  /**
   * Returns whether a key of this person signed the bytes. `at` is the time of the signature. Return `false` for an
   * unknown person. An error rejects the answer or the run.
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

/** An answer is read from the log, so it can have any form. */
const approvalSchema = z.strictObject({
  approved: z.literal(true),
  reason: z.string().optional(),
  signature: z.string().optional(),
});

async function isSigned(approval: CheckedApproval, { verify }: SignedApprovalsOptions): Promise<boolean> {
  const { by, answer } = approval;
  if (!approvalSchema.safeParse(answer).success) return false;
  const signed = decodeApprovalSignature(answer.signature ?? "");
  if (!signed || (by !== undefined && by !== signed.by)) return false;
  const { signature, ...person } = signed;
  return verify(approvalBytes({ ...approval, reason: answer.reason }, person), signature, person);
}

/** The parts of a signed approval that the request does not contain. */
interface ApprovalSignature {
  readonly by: string;
  /** When the person approved, in ISO 8601. */
  readonly at: string;
  readonly signature: Uint8Array;
}

type SignedParts = Pick<CheckedApproval, "agentId" | "requestId" | "askedAt" | "digest"> & {
  readonly reason: string | undefined;
};

/** Returns the bytes to sign: the request, its digest, the answer, the person and the time. */
function approvalBytes(
  { agentId, requestId, askedAt, digest, reason }: SignedParts,
  { by, at }: Pick<ApprovalSignature, "by" | "at">,
): Uint8Array {
  const signed = [
    "agent-persistence approval",
    1,
    agentId,
    requestId,
    askedAt,
    digest,
    "approved",
    reason ?? null,
    by,
    at,
  ];
  return utf8(JSON.stringify(signed));
}

function encodeApprovalSignature({ by, at, signature }: ApprovalSignature): string {
  return `${toBase64Url(utf8(JSON.stringify([by, at])))}.${toBase64Url(signature)}`;
}

/** Returns `undefined` if the text is no signature. */
function decodeApprovalSignature(text: string): ApprovalSignature | undefined {
  const [person, signature] = text.split(".").map(fromBase64Url);
  if (!person || !signature) return undefined;
  try {
    const [by, at] = JSON.parse(fromUtf8(person)) as readonly unknown[];
    return typeof by === "string" && typeof at === "string" ? { by, at, signature } : undefined;
  } catch {
    return undefined;
  }
}

/** The request of {@link signApproval}: an item of `listRequests()`, or of `getRequests()` with the `agentId`. */
export type ApprovalToSign = Pick<CheckedApproval, "agentId" | "requestId" | "askedAt" | "digest">;

export interface SignApprovalOptions {
  /** The person who approves, as passed to `answer`. */
  readonly by: string;
  /** Signs bytes with the key of the person. */
  readonly sign: Sign;
  /** The reason, which is stored with the approval. Defaults to no reason. */
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

const requestSchema = z.lazy(() =>
  z.object({ agentId: nonEmptyString, requestId: nonEmptyString, askedAt: nonEmptyString, digest: nonEmptyString }),
);

const signOptionsSchema = strictOptions(() => ({
  by: nonEmptyString,
  sign: functionSchema<Sign>(),
  reason: z.string().optional(),
  at: z.date().optional(),
}));

/**
 * Returns a signed answer to a request for approval. The signature is valid only for this request, call and person.
 *
 * @throws InvalidInputError if an option is unknown or invalid, or if the request has no `agentId`.
 *
 * @example
 * ```ts
 * const answer = await signApproval(request, { by: "ann@example.com", sign });
 * await persistence(desk).answer(request.requestId, answer, { by: "ann@example.com", digest: request.digest });
 * ```
 */
export async function signApproval(request: ApprovalToSign, options: SignApprovalOptions): Promise<SignedApproval> {
  checkSchema(requestSchema, request, "request of signApproval()");
  checkSchema(signOptionsSchema, options, "options of signApproval()");
  const { by, sign, reason, at = new Date() } = options;
  const person = { by, at: at.toISOString() };
  const signature = await sign(approvalBytes({ ...request, reason }, person));
  return {
    approved: true,
    ...(reason !== undefined && { reason }),
    signature: encodeApprovalSignature({ ...person, signature }),
  };
}
