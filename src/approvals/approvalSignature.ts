import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../internal/bytes.ts";
import type { CheckedApproval } from "./ApprovalVerifier.ts";

/** The signed parts of an approval that its request does not contain. */
export interface ApprovalSignature {
  readonly by: string;
  /** When the person approved, in ISO 8601. */
  readonly at: string;
  readonly signature: Uint8Array;
}

type SignedParts = Pick<CheckedApproval, "agentId" | "requestId" | "askedAt" | "digest"> & {
  readonly reason: string | undefined;
};

/** Returns the bytes that the person signs: the request, its digest, the answer, the person and the time. */
export function approvalBytes(
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

export function encodeApprovalSignature({ by, at, signature }: ApprovalSignature): string {
  return `${toBase64Url(utf8(JSON.stringify([by, at])))}.${toBase64Url(signature)}`;
}

/** Returns `undefined` for any other text. */
export function decodeApprovalSignature(text: string): ApprovalSignature | undefined {
  const [person, signature] = text.split(".").map(fromBase64Url);
  if (!person || !signature) return undefined;
  try {
    const [by, at] = JSON.parse(fromUtf8(person)) as readonly unknown[];
    return typeof by === "string" && typeof at === "string" ? { by, at, signature } : undefined;
  } catch {
    return undefined;
  }
}
